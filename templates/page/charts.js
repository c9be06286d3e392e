"use strict";
// Small charts of the last hour, and how figures are written.

const SVG = "http://www.w3.org/2000/svg";

function say(value, digits, unit) {
  if (value === null || value === undefined) return "–";
  return value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits }) + (unit || "");
}

function bytes(value) {
  return value === null || value === undefined ? "unknown" : say(value / 2 ** 30, 1, " GiB");
}

function seconds(value) {
  if (value === null || value === undefined) return "–";
  return value < 1 ? say(value * 1000, 0, " ms") : say(value, 1, " s");
}

function percent(share) {
  return share === null || share === undefined ? "–" : say(share * 100, 0, " %");
}

// Lines over `values` (a number or null for each slot), all on one scale that begins at 0 and ends at `most` at least.
function chart(lines, most, label) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 240 40");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const known = lines.flat().filter((value) => value !== null);
  const top = Math.max(most, ...known) || 1;
  const ground = document.createElementNS(SVG, "path");
  ground.setAttribute("class", "ground");
  ground.setAttribute("d", "M0 39.5H240");
  svg.append(ground);
  lines.forEach((values, number) => {
    let path = "", on = false;
    values.forEach((value, at) => {
      if (value === null) { on = false; return; }
      const x = (at * 240) / Math.max(1, values.length - 1), y = 39 - (37 * value) / top;
      path += `${on ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
      if (!on) path += "h0.8";
      on = true;
    });
    const line = document.createElementNS(SVG, "path");
    line.setAttribute("class", number ? "line two" : "line");
    line.setAttribute("d", path || "M0 0");
    if (path) svg.append(line);
  });
  return svg;
}

function highest(values) {
  const known = values.filter((value) => value !== null);
  return known.length ? Math.max(...known) : null;
}
