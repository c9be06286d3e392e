"use strict";
// Asks for now.json each second and for hour.json each fifteen, and draws them. What is on the page is changed in
// place, by name: nothing is built anew, so focus, selection and the place that somebody reads stay.

const EVERY = 1000, HOUR_EVERY = 15000, LATE = 5000, WITHIN = 4000;
const $ = (id) => document.getElementById(id);
let hour = { series: {} }, lastAnswer = 0, members = null;

// A child of `parent` for each of `items`, by key, in their order; `make` builds one, `fill` sets what it shows.
function keyed(parent, items, key, make, fill) {
  const there = new Map([...parent.children].map((one) => [one.dataset.key, one]));
  let before = null;
  for (const item of items) {
    const name = String(key(item));
    let one = there.get(name);
    if (!one) { one = make(item); one.dataset.key = name; }
    there.delete(name);
    fill(one, item);
    const place = before ? before.nextSibling : parent.firstChild;
    if (place !== one) parent.insertBefore(one, place);
    before = one;
  }
  for (const one of there.values()) one.remove();
}

function element(tag, name, text) {
  const one = document.createElement(tag);
  if (name) one.className = name;
  if (text !== undefined) one.textContent = text;
  return one;
}

function set(one, text, name) {
  if (one.textContent !== text) one.textContent = text;
  if (name !== undefined && one.className !== name) one.className = name;
}

function row(heads) {
  return (item) => {
    const tr = element("tr");
    heads.forEach((name, at) => {
      const cell = element(at ? "td" : "th", name);
      if (!at) cell.scope = "row";
      tr.append(cell);
    });
    return tr;
  };
}

function series(name, figure) { return (hour.series[name] || {})[figure] || []; }

function drawn(holder, lines, most, label) {
  const mark = JSON.stringify([lines, label]);
  if (holder.dataset.mark === mark) return;
  holder.dataset.mark = mark;
  holder.replaceChildren(chart(lines, most, label));
}

function model(item) {
  const card = element("article");
  card.append(element("h2", "", item[0]), element("p", "serves"));
  const charts = element("div", "charts");
  for (const what of ["tokens a second", "running, waiting", "cache in use"]) {
    const figure = element("figure");
    figure.append(element("strong"), element("figcaption", "", what), element("div"));
    charts.append(figure);
  }
  card.append(charts, element("p", "more"));
  return card;
}

function serving(one) {
  if (one.away) return [`away: ${one.away.what}, back in about ${say(one.away.left, 0)} s`, "serves half"];
  if (!one.members) return ["nobody serves it", "serves out"];
  const all = one.members === one.copies;
  return [`${one.members} of ${one.copies} ${one.copies === 1 ? "copy serves" : "copies serve"}`, all ? "serves in" : "serves half"];
}

function fillModel(card, [name, one]) {
  set(card.children[1], ...serving(one));
  const figures = card.querySelectorAll("figure");
  const rates = series(`model:${name}`, "generated_tokens_per_second");
  const running = series(`model:${name}`, "requests_running"), waiting = series(`model:${name}`, "requests_waiting");
  const cache = series(`model:${name}`, "kv_cache_usage_ratio");
  set(figures[0].children[0], say(one.generated_tokens_per_second, 0));
  drawn(figures[0].children[2], [rates], 1, `tokens a second over the last hour, at most ${say(highest(rates), 0)}`);
  set(figures[1].children[0], `${say(one.requests_running, 0)} + ${say(one.requests_waiting, 0)}`);
  drawn(figures[1].children[2], [running, waiting], 1,
    `requests over the last hour: running at most ${say(highest(running), 0)}, waiting (dashed) at most ${say(highest(waiting), 0)}`);
  set(figures[2].children[0], percent(one.kv_cache_usage_ratio));
  drawn(figures[2].children[2], [cache], 1, `share of the cache in use over the last hour, at most ${percent(highest(cache))}`);
  const first = one.time_to_first_token_seconds, each = one.inter_token_seconds;
  const more = card.querySelector(".more");
  keyed(more, [
    `${say(one.requests_per_second === null ? null : one.requests_per_second * 60, 0)} requests a minute`,
    `first token ${first ? `${seconds(first.p50)}, one in ten over ${seconds(first.p90)}` : "–"}`,
    `each token ${each ? seconds(each.p50) : "–"}`,
    `reads ${say(one.prompt_tokens_per_second, 0)} tok/s of prompts`,
  ].map((text, at) => [at, text]), (item) => item[0], () => element("span"), (span, item) => set(span, item[1]));
}

function fillCopy(tr, one) {
  const cells = tr.children, first = one.time_to_first_token_seconds;
  set(cells[0], one.copy);
  const pool = !one.member ? ["out", "pool out"] : one.out_of.length ? [`not in ${one.out_of.join(", ")}`, "pool half"] : ["in", "pool in"];
  set(cells[1], ...pool);
  set(cells[2], say(one.generated_tokens_per_second, 1));
  const rates = series(`copy:${one.copy}`, "generated_tokens_per_second");
  drawn(cells[3], [rates], 1, `tokens a second over the last hour, at most ${say(highest(rates), 0)}`);
  set(cells[4], say(one.requests_running, 0));
  set(cells[5], say(one.requests_waiting, 0));
  set(cells[6], percent(one.kv_cache_usage_ratio));
  set(cells[7], first ? seconds(first.p50) : "–");
  const drained = one.drains.length ? `drained by ${one.drains.join(", ")}` : "";
  const why = drained || one.evidence || one.reason || "";
  if (!cells[8].firstElementChild) cells[8].append(element("div"));
  set(cells[8].firstElementChild, why);
  if (cells[8].title !== why) cells[8].title = why;
}

function plain(unit) { return unit.replace(/^floor-(copy-)?|\.(service|timer)$/g, ""); }

function fillBox(tr, [name, one]) {
  const cells = tr.children, memory = one.memory;
  set(cells[0], name);
  set(cells[1], one.up ? one.mode || "none yet" : "");
  if (!one.up) {
    set(cells[2], "does not answer", "out");
    set(cells[3], one.why); set(cells[4], ""); set(cells[5], "");
    return;
  }
  if (!cells[2].firstElementChild) { cells[2].className = ""; cells[2].replaceChildren(element("meter"), element("span")); }
  const [meter, text] = cells[2].children, total = memory.total || 1;
  meter.max = total; meter.value = memory.available || 0; meter.low = memory.floor || total * 0.05;
  meter.setAttribute("aria-label", `memory left on ${name}`);
  set(text, `${bytes(memory.available)} of ${bytes(memory.total)}`);
  const down = one.services.down;
  set(cells[3], down.length ? `${down.map(plain).join(", ")}: not active` : `${one.services.active} active`, down.length ? "out" : "");
  set(cells[4], Object.entries(one.engines).map(([unit, state]) => `${plain(unit)} ${state}`).join(", "));
  const work = one.operation && one.operation.live ? `floor ${one.operation.verb} of ${one.operation.by}` : "–";
  set(cells[5], work);
}

function fillEvent(li, one) {
  const when = new Date(one.at * 1000);
  set(li.children[0], when.toLocaleTimeString("en-GB"));
  li.children[0].dateTime = when.toISOString();
  set(li.children[1], one.box);
  set(li.children[2], `${one.who}: ${one.text}`);
}

function event() {
  const li = element("li");
  li.append(element("time"), element("span", "box"), element("span", "text"));
  return li;
}

// Who comes and goes is told to those who listen to the page; figures are not.
function spoken(now) {
  const inside = new Set(now.copies.filter((one) => one.member).map((one) => one.copy));
  if (members) {
    const news = now.copies.filter((one) => inside.has(one.copy) !== members.has(one.copy))
      .map((one) => (inside.has(one.copy) ? `${one.copy} serves again` : `${one.copy} is out: ${one.evidence || one.reason}`));
    if (news.length) set($("spoken"), news.join(". "));
  }
  members = inside;
}

function draw(now) {
  const warnings = now.warnings.length ? now.warnings : ["nothing"];
  const name = now.warnings.length ? "" : "none";
  keyed($("warnings"), warnings.map((text, at) => [at, text]), (one) => one[0], () => element("li"), (li, one) => set(li, one[1], name));
  keyed($("models"), Object.entries(now.models), (item) => item[0], model, fillModel);
  keyed($("copies"), now.copies, (one) => one.copy, row(["", "pool", "n", "", "n", "n", "n", "n", "why"]), fillCopy);
  keyed($("boxes"), Object.entries(now.boxes), (item) => item[0], row(["", "", "", "", "", ""]), fillBox);
  keyed($("events"), now.events.map((one, at) => [at, one]), (item) => item[0], event, (li, item) => fillEvent(li, item[1]));
  spoken(now);
  const whole = Object.values(now.models).reduce((sum, one) => sum + (one.generated_tokens_per_second || 0), 0);
  document.title = `${say(whole, 0)} tok/s · floor`;
  set($("state"), `seen by ${now.asked} at ${new Date(now.at * 1000).toLocaleTimeString("en-GB")}`, "");
  $("all").hidden = false;
}

async function fetched(name) {
  const answer = await fetch(name, { cache: "no-store", signal: AbortSignal.timeout(WITHIN) });
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer.json();
}

async function again(every, work) {
  for (;;) {
    const began = Date.now();
    try { await work(); } catch { /* said by `stale` */ }
    await new Promise((done) => setTimeout(done, Math.max(50, every - (Date.now() - began))));
  }
}

function stale() {
  const old = Date.now() - lastAnswer;
  if (old > LATE) set($("state"), lastAnswer ? `no answer for ${Math.round(old / 1000)} s: what is below is old` : "no answer yet", "lost");
}

again(HOUR_EVERY, async () => { hour = await fetched("hour.json"); });
again(EVERY, async () => { const now = await fetched("now.json"); lastAnswer = Date.now(); draw(now); });
setInterval(stale, 1000);
