"""Wrong words are told as such before any box is asked, so also where none answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.__main__ import run

FILE = """\
boxes:
  a: {host: a.invalid, ssh: ops@a.invalid}
models:
  m: {source: /models/m, utilization: 0.8, runtime: {kind: docker, image: "registry.example/v:1"}, replicas: [a]}
proxy: {boxes: [a]}
"""


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["deploy", "--mode", "fast"], 2, "mode 'fast': there is no such mode; write one of replicas, split"),
        (["restart", "nope"], 2, "nope: no managed backend, box or model of that name; there are m@a"),
    ],
)
def test_wrong_words_come_first(
    words: list[str],
    code: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def asked(*_given: object, **_named: object) -> None:
        raise AssertionError("a box was asked")

    monkeypatch.setattr("floor.operations.site.Site.each", asked)
    (tmp_path / "floor.yaml").write_text(FILE)
    assert run([*words, "--config", str(tmp_path / "floor.yaml")]) == code
    assert capsys.readouterr().err.startswith(f"error: {told}")


def test_a_place_that_cannot_be_written_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "floor.yaml").write_text(FILE)
    (tmp_path / "file").write_text("")
    assert run(["render", "--out", str(tmp_path / "file"), "--config", str(tmp_path / "floor.yaml")]) == 1
    assert "cannot be written: Not a directory; choose another --out" in capsys.readouterr().err
