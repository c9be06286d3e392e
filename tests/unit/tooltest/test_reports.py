"""Reports: for machines, for CI, for people; and the command line that asks for them."""

from __future__ import annotations

import errno
import io
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import jsonschema
import pytest

from floor.errors import EndpointError, FloorError, UsageError
from floor.tooltest import command
from floor.tooltest.flags import options, parser
from floor.tooltest.report import junit, page, table
from floor.tooltest.report.result import Result, comparable, differing, read, write
from floor.tooltest.run import probes
from floor.tooltest.run.session import Options
from floor.tooltest.show import Progress, remaining
from floor.tooltest.suite import read as suites
from floor.tooltest.trial.record import STREAMED, WHOLE, Record
from floor.tooltest.verdict import gate
from tests.unit.tooltest.exchanges import played, scenario

SCHEMA = json.loads((Path(command.__file__).parent / "report" / "result.schema.json").read_text())
SETTING = {"suite": suites.digest(), "seed": 0, "sampling": {"temperature": 0.0, "max_tokens": 1024}, "system": ""}
NAMES = ("args/enum", "payload/closing-tags", "shapes/no-arguments", "parallel/two-tools", "control/required")


def result(what: str = "", trials: int = 3, trials_: Sequence[Record] = (), **more: Any) -> Result:
    """The result of a few scenarios against the perfect model, with a fault; or of the trials that are given."""
    records = list(trials_) or [
        played(scenario(name), (STREAMED, WHOLE)[trial % 2], what, trial) for name in NAMES for trial in range(trials)
    ]
    given: dict[str, Any] = {
        "setting": SETTING,
        "tier": "gate",
        "concurrency": 8,
        "tested": {"model": "m|<b>", "engine": "vllm"},
        "when": "2031-01-01T00:00:00+00:00",
        "seconds": 120.0,
        "harness": 1.2,
        "left_out": ["long/early-32k"],
        "trials": records,
        "probes": {"prompt": {"prompt_tokens": {"tools": 90}, "words": "tools 90"}},
    }
    return Result(**given | more)


GOOD, BAD = result(), result("lost-brace")
BEFORE = result(trials=10)
BLOCKED = gate.decide(BEFORE.trials, BAD.trials)


def parsed(xml: str) -> Element:
    return fromstring(xml)  # noqa: S314 - our own


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = command.main(words)
    out, err = capsys.readouterr()
    return code, out, err


def save(one: Result, path: Path) -> str:
    path.write_text(json.dumps(one.document()))
    return str(path)


def test_the_table_shows_the_figures() -> None:
    lines = list(table.lines(BAD, BLOCKED))
    assert "tested      model m|<b>, engine vllm" in lines
    assert "tier        gate: 15 trials, 8 at once, in 2.0 min" in lines
    assert "harness     1.2 s of processor time, 1.0% of the run" in lines
    assert "left out    long/early-32k: longer than the context" in lines
    assert "behaviour   20.0 of 100; right 3 times of 3: 20.0" in lines
    assert "  arguments-text     failed in 12 of 12 (8 streamed, 4 whole)" in lines
    assert any(line.startswith("BLOCK       arguments-text broke in 12 of 12 trials (0 of 40") for line in lines)
    assert "            args collapsed from 100 to 0" in lines
    assert any("the smallest drop that it would have blocked in 4 of 5 cases" in line for line in lines)


def test_what_a_server_says_does_nothing_to_the_terminal() -> None:
    bad = result()
    trials = [replace(one, score=0.0, error="HTTP 500: <html>\n\x1b[2J\r\n</html>") for one in bad.trials]
    (line,) = (line for line in table.lines(replace(bad, trials=trials)) if line.startswith("errors"))
    assert line.endswith("HTTP 500: <html>  [2J  </html>")


def test_the_page_shows_the_raw_exchanges_of_failures() -> None:
    text = page.markdown(BAD, BLOCKED)
    assert text.startswith("# Does m|<b> call tools? BLOCK")
    assert "| model | m\\|&lt;b> |" in text
    assert "### args/enum, trial 0, streamed: 0" in text
    assert "- arguments-text: arguments of set_valve are no JSON object" in text
    assert '"tools": [\n  "set_valve",\n  "switch_lamp"\n ]' in text
    assert "data: [DONE]" in text
    assert "## Contract: 1 check broken" in text
    assert "## Failures: 12 of 15 trials" in text
    assert "## Failures: 0 of 15 trials" in page.markdown(GOOD)


def test_a_fence_is_longer_than_any_in_what_it_holds() -> None:
    assert next(page._fenced("a\n```\nb")) == "````"


def test_junit_has_failures_errors_and_what_was_left_out() -> None:
    root = parsed(junit.xml(BAD, BLOCKED))
    suites_ = {one.get("name"): one for one in root}
    assert {name: (one.get("tests"), one.get("failures"), one.get("skipped")) for name, one in suites_.items()} == {
        "behaviour": ("6", "4", "1"),
        "contract": ("18", "1", suites_["contract"].get("skipped")),
        "gate": ("1", "1", "0"),
    }
    failed = suites_["contract"].find("testcase[@name='arguments-text']/failure")
    assert failed is not None
    assert "12 of 12 trials" in failed.get("message", "")


def green(root: Element) -> bool:
    return all(one.get("failures") == one.get("errors") == "0" for one in root)


def told_beside(root: Element, name: str) -> str:
    return root.findtext(f"testsuite/testcase[@name='{name}']/system-out", "")


@pytest.mark.parametrize("what", ["lost-brace", "refuses-own-call"])
def test_junit_is_green_where_the_gate_passes_whatever_else_a_build_cannot_do(what: str) -> None:
    """A real model is far from 100: what it could not do before it need not do now."""
    before, now = result(what, trials=10), result(what)
    verdict = gate.decide(before.trials, now.trials)
    assert verdict.word == "PASS"
    root = parsed(junit.xml(now, verdict, before))
    assert green(root)
    assert told_beside(root, "args/enum")
    assert told_beside(root, "arguments-text" if what == "lost-brace" else "own-call-accepted").startswith("12 of 12")
    assert not green(parsed(junit.xml(now)))  # without a baseline it is what this run shows


def test_junit_is_green_and_skips_where_the_gate_holds() -> None:
    now = result("no-id")
    verdict = gate.unclear(gate.decide(BEFORE.trials, now.trials))
    root = parsed(junit.xml(now, verdict, BEFORE))
    assert (verdict.word, green(root)) == ("HOLD", True)
    assert root.find("testsuite[@name='gate']/testcase/skipped") is not None


def test_junit_calls_what_was_so_before_no_regression() -> None:
    """args/enum alone failed before already."""
    trials = [replace(one, score=0.0) if one.scenario == "args/enum" else one for one in BEFORE.trials]
    before = result(trials_=trials)
    verdict = gate.decide(before.trials, BAD.trials)
    root = parsed(junit.xml(BAD, verdict, before))
    cases = root.findall("testsuite[@name='behaviour']/testcase")
    assert verdict.word == "BLOCK"
    failed = {case.get("name") for case in cases if case.find("failure") is not None}
    assert failed == {"payload/closing-tags", "parallel/two-tools", "control/required"}
    assert told_beside(root, "args/enum").startswith("0.00 of 1")


@pytest.mark.parametrize("command_", ["run", "baseline", "gate"])
def test_ci_is_told_of_an_endpoint_that_is_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command_: str
) -> None:
    async def down(*asked: object, **more: object) -> Result:
        raise EndpointError("http://x: does not answer")

    monkeypatch.setattr(command.session, "measure", down)
    monkeypatch.setattr(command.session, "decide", down)
    xml, log = tmp_path / "junit.xml", tmp_path / "log"
    xml.write_text("of the run before")
    more = {
        "run": (),
        "baseline": ("--save", str(tmp_path / "b")),
        "gate": ("--baseline", save(BEFORE, tmp_path / "a")),
    }
    assert told(capsys, command_, "http://x", "--junit", str(xml), "--log", str(log), *more[command_])[0] == 7
    error = parsed(xml.read_text()).find("testsuite[@errors='1']/testcase/error")
    assert error is not None
    assert error.get("message") == "http://x: does not answer"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the report cannot be written: No space left on device"),
        (
            KeyError("x"),
            "this is a defect of floor: KeyError: 'x'; FLOOR_DEBUG=1 shows where, please report it",
        ),
    ],
)
@pytest.mark.parametrize(("name", "code"), [("compare", 7), ("curve", 1)])
def test_a_defect_is_no_verdict_and_no_traceback(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    words: str,
    name: str,
    code: int,
) -> None:
    def fails(_flags: object) -> int:
        raise error

    monkeypatch.setitem(command._COMMANDS, name, fails)
    assert told(capsys, name, *(["a", "b"] if name == "compare" else [])) == (code, "", f"error: {words}\n")
    monkeypatch.setenv("FLOOR_DEBUG", "1")
    with pytest.raises(type(error)):
        command.main([name, *(["a", "b"] if name == "compare" else [])])


def test_a_gate_that_cannot_tell_is_no_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    files = save(BEFORE, tmp_path / "before"), save(GOOD, tmp_path / "after")
    assert told(capsys, "compare", *files, "--output", str(tmp_path / "file" / "x"))[0] == 7


def test_junit_calls_an_endpoints_failure_an_error() -> None:
    root = parsed(junit.xml(result("refuses-own-call")))
    assert root.find("testsuite[@name='behaviour']/testcase[@name='args/enum']/error") is not None


def test_junit_holds_no_character_that_xml_forbids() -> None:
    bad = result()
    trials = [type(one)(**{**vars(one), "score": 0.0, "reason": "a\x00b\x1b"}) for one in bad.trials]
    parsed(junit.xml(Result(**{**vars(bad), "trials": trials})))


def test_the_json_fits_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = save(BEFORE, tmp_path / "before"), save(BAD, tmp_path / "after")
    code, out, _ = told(capsys, "compare", before, after, "--json")
    document = json.loads(out)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert (code, document["verdict"]["word"]) == (1, "BLOCK")
    assert document["summary"]["contract"]["arguments-text"] == {"applied": 12, "failed": 12}


def test_a_result_comes_back_from_its_file(tmp_path: Path) -> None:
    assert read(Path(save(BAD, tmp_path / "x"))) == BAD


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "cannot be read: Expecting property name"),
        ("[]", "is no result of a tool test; `floor tooltest baseline` makes one"),
        ('{"format": "floor-tooltest-0"}', "has the format 'floor-tooltest-0', this is floor-tooltest-1; make it anew"),
        ('{"format": "floor-tooltest-1"}', "is no result of a tool test"),
        (json.dumps(GOOD.document() | {"setting": 5}), "is no result of a tool test"),
        (json.dumps(GOOD.document() | {"seconds": "x"}), "is no result of a tool test"),
        (json.dumps(GOOD.document() | {"trials": [5]}), "is no result of a tool test"),
        ("[" * 100_000, "cannot be read: maximum recursion depth exceeded"),
    ],
)
def test_a_file_that_is_no_result_is_refused(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(UsageError, match=words):
        read(path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none: cannot be read: No such file or directory; `floor tooltest baseline`"):
        read(tmp_path / "none")


@pytest.mark.parametrize(
    ("field", "other", "words"),
    [
        ("suite", "x", "the scenarios differs: suite is"),
        ("seed", 1, "the seed differs: seed is 1 there and 0 here"),
        ("sampling", {}, "the sampling differs: sampling is {} there"),
        ("system", "Be kind.", "the system prompt differs: system is 'Be kind.' there and '' here"),
    ],
)
def test_what_cannot_be_compared_is_refused(field: str, other: object, words: str) -> None:
    with pytest.raises(UsageError, match=r"b.json: cannot be compared: .*; make a baseline with the same"):
        comparable(SETTING | {field: other}, SETTING, "b.json")
    assert differing(SETTING | {field: other}, SETTING)[0].startswith(words)
    assert differing(SETTING, SETTING) == []


def test_a_gate_that_cannot_compare_tells_ci_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = save(result(setting=SETTING | {"seed": 1}), tmp_path / "before")
    xml = tmp_path / "junit.xml"
    code, _, err = told(capsys, "compare", other, save(GOOD, tmp_path / "after"), "--junit", str(xml))
    assert (code, err.count("\n")) == (2, 1)
    assert parsed(xml.read_text()).find("testsuite/testcase/skipped") is not None


@pytest.mark.parametrize(
    ("after", "code", "word"), [(GOOD, 0, "PASS"), (BAD, 1, "BLOCK"), (result("no-id"), 6, "HOLD")]
)
def test_the_exit_code_is_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], after: Result, code: int, word: str
) -> None:
    files = save(BEFORE, tmp_path / "before"), save(after, tmp_path / "after")
    assert told(capsys, "compare", *files)[:2] == (code, capsys.readouterr().out or _table(after, word))


def _table(after: Result, word: str) -> str:
    verdict = gate.decide(BEFORE.trials, after.trials)
    verdict = gate.unclear(verdict) if verdict.word == gate.MORE else verdict
    assert verdict.word == word
    return "".join(f"{line}\n" for line in table.lines(after, verdict))


def test_every_report_is_written_where_it_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = save(BEFORE, tmp_path / "before"), save(GOOD, tmp_path / "after")
    wanted = {name: tmp_path / "out" / name for name in ("output", "junit", "markdown")}
    words = [word for name, path in wanted.items() for word in (f"--{name}", str(path))]
    assert told(capsys, "compare", *files, *words)[0] == 0
    assert all(path.stat().st_size > 500 for path in wanted.values())
    assert len(list((tmp_path / "out").iterdir())) == 3


@pytest.mark.parametrize("name", ["file/x", ""])
def test_a_report_that_cannot_be_written_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FloorError, match="cannot be written: "):
        write(tmp_path / name, "text")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_report_leaves_a_link_a_link_and_a_pipe_a_pipe(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("old")
    link.symlink_to(target)
    write(link, "new")
    assert (link.is_symlink(), target.read_text()) == (True, "new")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(pipe, "text")
    assert (os.read(reader, 99), pipe.is_fifo()) == (b"text", True)
    os.close(reader)


def test_a_report_that_breaks_off_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "report").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FloorError, match="report: cannot be written: No space left on device"):
        write(tmp_path / "report", "new")
    assert [one.read_text() for one in tmp_path.iterdir()] == ["old"]


def test_a_change_of_the_template_is_told_beside_the_verdict() -> None:
    was = {"prompt": {"prompt_tokens": {"tools": 90, "words": 12}}}
    now = {"prompt": {"prompt_tokens": {"tools": 95, "words": 12}}, "load": {"worse": True, "words": "20, 3"}}
    assert probes.compare(was, now) == [
        "prompts are built otherwise (template or tokeniser): tokens of tools 90 → 95",
        "load: 20, 3",
    ]
    assert probes.compare({}, {}) == []


@pytest.mark.parametrize(
    ("words", "told_"),
    [
        (("--sampling", "[1]"), """--sampling: found '[1]'; write a JSON object, such as {"top_p": 0.9}"""),
        (("--sampling", '{"stream": true}'), "--sampling: stream: each scenario has its own; leave it out"),
        (("--sampling", '{"max_tokens": "x"}'), "max_tokens: found 'x'; write a whole number, 1 or more"),
        (
            ("--temperature", "nan"),
            "sampling: found {'temperature': nan, 'max_tokens': 1024}; NaN and Infinity are no numbers of a request",
        ),
        (("--system", "/no/such"), "/no/such: cannot be read: No such file or directory"),
        (("--key-file", "/no/such"), "/no/such: cannot be read: No such file or directory"),
    ],
)
def test_flags_that_cannot_be_meant_are_told(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told_: str
) -> None:
    assert told(capsys, "run", "http://127.0.0.1:9", *words) == (2, "", f"error: {told_}\n")


@pytest.mark.parametrize("url", ["box:8000", "http://", "http://a:x", "http://a/\x01", "ftp://a"])
def test_what_is_no_address_is_told(capsys: pytest.CaptureFixture[str], url: str) -> None:
    assert told(capsys, "run", url) == (2, "", f"error: {url}: is no address; write http://HOST:PORT\n")


def test_a_number_that_is_none_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = told(capsys, "run", "http://x", "--trials", "0")
    assert (code, err.splitlines()[-1]) == (
        2,
        "floor tooltest run: error: argument --trials: 0: write a whole number, 1 or more",
    )


def test_a_curve_of_no_gates_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = told(capsys, "curve", "--gates", "0")
    assert (code, err.splitlines()[-1]) == (
        2,
        "floor tooltest curve: error: argument --gates: 0: write a whole number, 1 or more",
    )


def test_what_is_left_open_is_as_in_the_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOOR_ENGINE_KEY", "secret")
    before = result(
        setting=SETTING | {"seed": 7, "system": "Be kind.", "sampling": {"temperature": 1.0, "max_tokens": 9}}
    )
    asked = options(parser().parse_args(["gate", "http://x", "--baseline", "b"]), before)
    assert asked.setting == before.setting
    assert asked.endpoint.key == "secret"
    asked = options(parser().parse_args(["gate", "http://x", "--baseline", "b", "--temperature", "0.5"]), before)
    assert asked.sampling == {"temperature": 0.5, "max_tokens": 9}


def test_a_key_is_no_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "run", "http://x", "--key", "secret")[0] == 2


def test_a_key_of_two_words_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "key"
    path.write_text("one two")
    assert told(capsys, "run", "http://x", "--key-file", str(path))[2] == (
        f"error: {path}: holds no key: one word of ASCII is wanted\n"
    )


@pytest.mark.parametrize("name", ["run", "baseline", "gate", "compare", "answers", "curve"])
def test_each_command_has_its_help(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, out, err = told(capsys, name, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: floor tooltest {name}")


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.0, "0 min 00 s"), (59.6, "1 min 00 s"), (119.0, "1 min 59 s"), (3671.0, "61 min 11 s")]
)
def test_what_is_left_is_told_in_minutes_that_have_passed_whole(seconds: float, told: str) -> None:
    assert remaining(seconds) == told


def test_progress_is_a_line_at_each_tenth_where_nobody_watches() -> None:
    to = io.StringIO()
    progress = Progress(to)
    for done in range(1, 31):
        progress.show(done, 30, 65.0)
    assert len(to.getvalue().splitlines()) == 10
    assert to.getvalue().splitlines()[-1] == "30 of 30 trials, 1 min 05 s left"


def test_a_baseline_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "b"
    path.write_text("x")
    assert told(capsys, "baseline", "http://x", "--save", str(path))[::2] == (
        2,
        f"error: {path}: is there already; --replace writes over it\n",
    )


def test_a_context_that_shrank_is_told_beside_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = save(result(trials=10, left_out=[]), tmp_path / "before")
    _, out, _ = told(capsys, "compare", before, save(GOOD, tmp_path / "after"))
    assert "beside: the context is smaller than before: long/early-32k did not fit" in out


def test_a_baseline_that_was_cut_off_is_told_beside_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a model that thinks: 10 of 50 trials may be, 20 are too many."""

    def cut(name: str) -> Result:
        words = "did not call a, cut off at the most tokens"
        trials = [replace(one, score=0.0, reason=words) if one.scenario in name else one for one in BEFORE.trials]
        return result(trials_=trials)

    for names, shown in (("args/enum", False), ("args/enum parallel/two-tools", True)):
        before = save(cut(names), tmp_path / "before")
        _, out, _ = told(capsys, "compare", before, save(GOOD, tmp_path / "after"))
        assert (
            "beside: 20 of 50 trials of the baseline were cut off at 1024 tokens, so it shows little" in out
        ) is shown


def test_a_run_that_never_began_leaves_no_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def down(asked: object) -> Result:
        raise EndpointError("http://x: does not answer")

    monkeypatch.setattr(command.session, "measure", down)
    assert told(capsys, "run", "http://x") == (7, "", "error: http://x: does not answer\n")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_interrupted_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def interrupted(asked: Options) -> Result:
        asked.log.write_text("{}\n")
        raise KeyboardInterrupt

    monkeypatch.setattr(command.session, "measure", interrupted)
    code, _, err = told(capsys, "run", "http://x")
    how = f"the same command with --log {next(tmp_path.iterdir())} goes on from it"
    assert (code, err) == (130, f"interrupted\n  what was done is in a trial log: {how}\n")


@pytest.mark.parametrize("own", [True, False])
def test_a_log_has_served_when_everything_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def done(asked: Options) -> Result:
        asked.log.write_text('{"about": {}}\n')
        return GOOD

    monkeypatch.setattr(command.session, "measure", done)
    assert told(capsys, "run", "http://x", *([] if own else ["--log", str(tmp_path / "log")]))[0] == 0
    assert [path.read_text() for path in tmp_path.iterdir()] == ([] if own else ['{"about": {}}\n{"finished": true}\n'])
