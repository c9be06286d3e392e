"""`floor layout` as a person sees it: from weights on disk and boxes that are only said to be, or from floor.yaml."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from floor.__main__ import run
from tests.unit.layout import disk, fleets
from tests.unit.layout.models import config

BOXES = ("--box", "spark-a=gb10,others=17GiB", "--box", "spark-b=gb10,others=22GiB,keep_free=9.5GiB")
STORY = (*BOXES, "--at-once", "2", "--drafts", "4")


def tensors() -> dict[str, int]:
    """The flagship's tensors: bytes by layer, as its weights of 4 bits lie on disk."""
    there = fleets.want().weights
    sizes = {"model.embed_tokens.weight": int(there.table), "lm_head.weight": int(there.head)}
    for layer, (dense, experts) in enumerate(zip(there.dense, there.experts, strict=True)):
        sizes[f"model.layers.{layer}.self_attn.q_proj.weight"] = int(dense)
        sizes[f"model.layers.{layer}.mlp.experts.0.up_proj.weight"] = int(experts)
    return {**sizes, "mtp.fc.weight": int(there.drafts)}


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """`floor layout WORDS` with the flagship's weights in ./flagship: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLOOR_CONFIG", raising=False)
    disk.folder(tmp_path / "flagship", fleets.FLAGSHIP, tensors())

    def said(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(["layout", *words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return said


def test_the_factory_floor_is_advised_to_what_its_owners_chose(said: Callable[..., Any]) -> None:
    code, out, err = said("flagship=flagship", *STORY, "--kv-cache", "fp8", "--what-if", "kv_cache=auto")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("flagship: 134.5B parameters (12.2B a token), 71.0 GiB of weights (measured), cache fp8")
    assert "recommended: copies on spark-a, spark-b" in lines
    assert "split by tensor over spark-a + spark-b becomes right above 2 requests of 262,144 at once" in out
    assert "the engine will log 1,07" in out
    assert "! assumed: activations, runtime and graphs" in out
    cases = {line.split("  ")[0]: line for line in lines[lines.index("", 5) :] if "flagship" in line}
    assert "copies on spark-a, spark-b" in cases["as it is"]
    assert "split by tensor over spark-a + spark-b" in cases["kv_cache=auto"]


def test_cards_are_shown_with_their_stretches(said: Callable[..., Any]) -> None:
    _, out, _ = said("flagship=flagship", "--box", "a=a100-80", "--box", "b=l40s")
    bars = [line for line in out.splitlines() if "[WW" in line]
    assert [line.split("[")[0].strip() for line in bars] == ["a a100-80", "b l40s"]
    assert all(line.split("]")[1].strip().startswith("flagship: layers ") for line in bars)
    assert len(bars[0]) > len(bars[1])
    assert bars[0].endswith("-" + str(int(bars[1].split("layers ")[1].split("-")[0]) - 1))


def test_json_has_a_stable_shape(said: Callable[..., Any]) -> None:
    code, out, _ = said("flagship=flagship", *STORY, "--json", "--what-if", "kv_cache=fp8")
    found = json.loads(out)
    assert code == 0
    assert set(found) == {"boxes", "models", "warnings", "what_if"}
    assert set(found["what_if"]["kv_cache=fp8"]) == {"boxes", "models"}
    (model,) = found["models"]
    assert set(model) == {
        *("model", "family", "layers", "parameters", "active_parameters", "weights", "context", "at_once", "cap"),
        *("kv_cache", "drafts", "recommended", "enough", "reasons", "changes", "layouts", "misfits", "simulated"),
    }
    layout = model["layouts"][model["recommended"]]
    assert (layout["mode"], layout["boxes"]) == ("split", ["spark-a", "spark-b"])
    (backend,) = layout["backends"]
    assert backend["tensor_parallel"] == 2
    assert {backend[part]["origin"] for part in ("one_stream", "at_cap", "prompt")} == {"computed"}
    assert backend["cards"][0]["activations"]["origin"] == "assumed"
    assert found["boxes"]["spark-b"]["keep_free"] == 9.5 * 2**30


def test_a_run_under_traffic_is_shown_for_each_layout(said: Callable[..., Any]) -> None:
    words = (
        "flagship=flagship",
        *STORY,
        "--kv-cache",
        "fp8",
        "--simulate",
        "users=24,requests=60,prompt=6000,answer=300",
    )
    curves = ("--curve", "flagship@spark-a=1:36,8:111", "--curve", "flagship@spark-b=1:36,8:99")
    found = json.loads(said(*words, *curves, "--curve", "flagship@spark-a+spark-b=1:50,12:180", "--json")[1])
    speeds = {one["layout"]: one["tokens_per_second"] for one in found["models"][0]["simulated"]}
    assert speeds["copies on spark-a, spark-b"] > speeds["split by tensor over spark-a + spark-b"] > 100
    assert said(*words)[1].count("copies on spark-a, spark-b") >= 3


def test_a_picture_is_written(said: Callable[..., Any], tmp_path: Path) -> None:
    assert said("flagship=flagship", *STORY, "--svg", "p.svg")[0] == 0
    root = ET.parse(tmp_path / "p.svg").getroot()  # noqa: S314 - our own
    words = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "flagship: split by tensor over spark-a + spark-b" in words
    assert "flagship: layers 0-99, part 1 of 2" in words
    assert said("flagship=flagship", *STORY, "--svg", "no/p.svg")[2].startswith("error: no/p.svg: cannot be written")


def test_a_card_that_sets_the_pace_is_told(said: Callable[..., Any]) -> None:
    words = ("flagship=flagship", "--box", "fast=rtx-4090", "--box", "slow=thor,others=45GiB", "--context", "8192")
    _, out, _ = said(*words)
    assert "! flagship@fast+slow: its slowest stretch takes 1." in out


def test_what_does_not_fit_is_told_and_ends_with_1(said: Callable[..., Any]) -> None:
    code, out, _ = said("flagship=flagship", "--box", "a=rtx-4090")
    assert code == 1
    assert "does not fit: a copy on a: " in out
    assert "GiB are missing for weights and one request of 262,144 tokens" in out
    assert out.splitlines()[-1] == "flagship: nothing fits"


TEXT = """\
boxes:
  spark-a: {host: 192.0.2.11, fabric: {interface: fab0, address: 198.51.100.1}}
  spark-b: {host: 192.0.2.12, keep_free: 9.5GiB, fabric: {interface: fab0, address: 198.51.100.2}}
models:
  flagship:
    source: SOURCE
    kv_cache: fp8
    args: {speculative-config: {method: mtp, num_speculative_tokens: 4}}
    utilization: 0.4
    runtime: {kind: native, command: /opt/vllm/bin/vllm}
    replicas: [spark-a, spark-b]
proxy: {boxes: [spark-a]}
"""


class Told:
    """A box that answers one call."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def call(self, name: str, params: dict[str, Any]) -> Any:
        assert name == "layout.look"
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(params)


def _spark(used: float, folder: Path) -> Callable[[dict[str, Any]], Any]:
    from floor.box import headers

    def answer(params: dict[str, Any]) -> Any:
        total = int(121.7 * 2**30)
        return {
            "memory": {"total": total, "available": total - int(used * 2**30)},
            "gpus": [{"name": "NVIDIA GB10", "total": None, "used": None, "driver": "580"}],
            "sources": {source: headers.read(folder) for source in params["sources"]},
            "starts": {"flagship@spark-a": 421.0, "other@spark-a": 9.0},
            "others": None,
            "logged": {},
        }

    return answer


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A floor.yaml with two boxes; what each of them answers can be changed."""
    answers: dict[str, Any] = {
        name: _spark(used, tmp_path / "flagship") for name, used in (("spark-a", 17), ("spark-b", 22))
    }
    (tmp_path / "floor.yaml").write_text(TEXT.replace("SOURCE", str(tmp_path / "flagship")))
    monkeypatch.setattr(
        "floor.apply.transport.connect", lambda _config: {name: Told(answers[name]) for name in answers}
    )
    monkeypatch.setattr("floor.apply.wheels.release_id", lambda: "r")
    return answers


def test_boxes_of_the_file_tell_memory_cards_and_weights(said: Callable[..., Any], file: dict[str, Any]) -> None:
    found = json.loads(said("--at-once", "2", "--json")[1])
    assert {name: box["cards"] for name, box in found["boxes"].items()} == {"spark-a": ["gb10"], "spark-b": ["gb10"]}
    assert {box["origin"] for box in found["boxes"].values()} == {"measured"}
    (model,) = found["models"]
    assert (model["kv_cache"], model["drafts"], model["weights"]["origin"]) == ("fp8", 4, "measured")
    started = [backend["start"] for backend in model["layouts"][0]["backends"]]
    assert started[0] == {"seconds": 421.0, "origin": "measured"}
    assert started[1]["origin"] == "assumed"
    assert model["layouts"][model["recommended"]]["title"] == "copies on spark-a, spark-b"


def test_what_a_guard_has_seen_goes_before_constants(
    said: Callable[..., Any], file: dict[str, Any], tmp_path: Path
) -> None:
    whole = _spark(5, tmp_path / "flagship")
    logged = {"launch": "d", "utilization": 0.74, "start": {"available": 13.37, "graphs_estimated": 0.82}}
    seen = {"others": (30 * 2**30), "logged": {"floor-copy-flagship.service": logged}}
    file["spark-b"] = lambda params: {**whole(params), **seen}
    found = json.loads(said("--json")[1])
    assert found["boxes"]["spark-b"]["others"] == 30 * 2**30
    cards = {
        one["box"]: one["activations"]["origin"]
        for backend in found["models"][0]["layouts"][0]["backends"]
        for one in backend["cards"]
    }
    assert cards["spark-a"] == "assumed"
    assert cards.get("spark-b", "measured") == "measured"


def test_what_was_measured_on_a_box_goes_before_the_table_while_the_build_is_the_same(
    said: Callable[..., Any], file: dict[str, Any], tmp_path: Path
) -> None:
    from floor.config.load import load
    from floor.operations.layout_measured import build

    whole = _spark(17, tmp_path / "flagship")
    speeds = ((1, 20), (12, 90))
    points = [{"at_once": n, "prompt": 1024, "answer": 64, "first": 2.0, "speed": speed} for n, speed in speeds]
    file_of_now = load(Path("floor.yaml")).config
    own = build(file_of_now, file_of_now.copies("flagship")[0])
    for made_from, origin in ((own, "measured"), ("another", "computed")):
        entry = {"launch": "d", "build": made_from, "start": {}, "points": points}
        kept = {"calibrated": {"flagship@spark-a": [entry]}}
        file["spark-a"] = lambda params, kept=kept: {**whole(params), **kept}
        found = json.loads(said("--json")[1])["models"][0]["layouts"]
        backends = {one["name"]: one for layout in found for one in layout["backends"]}
        assert backends["flagship@spark-a"]["one_stream"]["origin"] == origin
        assert backends["flagship@spark-b"]["one_stream"]["origin"] == "computed"
        note = "speeds of flagship@spark-a are those that `floor calibrate` measured"
        assert (note in said()[1]) is (origin == "measured")
        assert (backends["flagship@spark-a"]["one_stream"]["tokens_per_second"] == pytest.approx(20)) is (
            origin == "measured"
        )


def test_a_share_of_the_file_that_holds_no_request_is_warned_of(said: Callable[..., Any], file: dict[str, Any]) -> None:
    """0.4 of 121.7 GiB is less than the weights take."""
    code, out, err = said("--at-once", "2")
    assert code == 0
    lines = err.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        ["warning", "flagship@spark-a"],
        ["warning", "flagship@spark-b"],
    ]
    room = "no request of 262,144 tokens could be held: its weights alone do not fit; 32.6 GiB more would do"
    assert all(line.endswith(room) for line in lines)
    assert "recommended: copies on spark-a, spark-b" in out


def test_a_check_asks_the_boxes_where_it_is_told_to(
    said: Callable[..., Any], file: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check"]) == 0
    assert "share" not in capsys.readouterr().err
    assert run(["check", "--boxes"]) == 0
    told = capsys.readouterr()
    assert told.err.count("no request of 262,144 tokens could be held") == 2
    assert told.out.startswith("floor.yaml: ok")
    assert run(["check", "--boxes", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["warnings"]) >= 2


def test_a_context_beyond_the_model_s_own_is_warned_of(said: Callable[..., Any], file: dict[str, Any]) -> None:
    text = Path("floor.yaml").read_text()
    Path("floor.yaml").write_text(text.replace("utilization: 0.4", "context: 300000\n    utilization: 0.4"))
    err = said()[2]
    assert "flagship@spark-a: no request could use a context of 300,000: the model takes 262,144" in err


def test_boxes_that_are_said_are_not_asked(said: Callable[..., Any], file: dict[str, Any]) -> None:
    from floor.apply.transport import UnreachableError

    file["spark-b"] = UnreachableError("spark-b: no way to it")
    code, _, err = said("flagship")
    assert code == 1
    assert err.splitlines()[0] == "error: spark-b: no way to it"
    assert "say by --box NAME=CARD what the boxes are, where they cannot be asked" in err
    assert said("flagship", *BOXES)[0] == 0


def test_a_card_that_is_not_known_is_named(said: Callable[..., Any], file: dict[str, Any], tmp_path: Path) -> None:
    whole = _spark(1, tmp_path / "flagship")
    file["spark-b"] = lambda params: {**whole(params), "gpus": [{"name": "NVIDIA Z9", "total": 1}]}
    assert said()[2] == (
        "error: spark-b: card 'NVIDIA Z9' is not in the table; say by --box spark-b=CARD what it is like\n"
    )


def test_weights_that_are_nowhere_are_told_with_what_each_box_said(
    said: Callable[..., Any], file: dict[str, Any]
) -> None:
    empty = {"memory": {"total": 1, "available": 1}, "gpus": []}
    for name in list(file):
        file[name] = lambda params: {**empty, "sources": {one: {"error": f"{one}: gone"} for one in params["sources"]}}
    err = said()[2]
    assert err.startswith("error: flagship: its weights were found nowhere; fetch them, or write flagship=FOLDER\n")
    assert "spark-a: " in err
    assert "gone" in err


WRONG = [
    (("nobody",), "model 'nobody': there is no such model; write one of flagship, or nobody=FOLDER"),
    (("flagship", "--critical", "other"), "--critical other: there is no such model; write one of flagship"),
    (("flagship", "--box", "a=gb10", "--box", "a=gb10"), "--box: found the same name twice; give each box its own"),
    (("flagship", "--context", "300000"), "--context: flagship allows requests of 262144 tokens; found 300000"),
    (("flagship", "--kv-cache", "int3"), "--kv-cache: found kv_cache 'int3'; write one of auto, fp8,"),
]


@pytest.mark.parametrize(("words", "says"), WRONG, ids=lambda value: "" if isinstance(value, str) else " ".join(value))
def test_what_cannot_be_meant_ends_with_2(
    said: Callable[..., Any], file: dict[str, Any], words: tuple[str, ...], says: str
) -> None:
    code, out, err = said(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {says}")


def test_several_models_are_placed_beside_each_other(said: Callable[..., Any], tmp_path: Path) -> None:
    small = config("qwen3-embedding-0.6b")
    sizes = {f"model.layers.{n}.mlp.up_proj.weight": 40_000_000 for n in range(28)}
    disk.folder(tmp_path / "small", small, {**sizes, "model.embed_tokens.weight": 300_000_000})
    words = ("flagship=flagship", "small=small", *BOXES, "--kv-cache", "fp8", "--critical", "small", "--json")
    found = json.loads(said(*words)[1])
    chosen = [model["layouts"][model["recommended"]]["title"] for model in found["models"]]
    assert chosen == ["copies on spark-a, spark-b", "copies on spark-a, spark-b"]


def test_what_generates_nothing_has_no_speeds_and_no_simulation(said: Callable[..., Any], tmp_path: Path) -> None:
    sizes = {f"encoder.layer.{n}.output.weight": 20_000_000 for n in range(24)}
    disk.folder(tmp_path / "bge", config("bge-large"), sizes)
    code, out, _ = said("bge=bge", "--box", "a=gb10", "--simulate", "users=4,prompt=100,answer=10")
    assert code == 0
    assert "1. it keeps nothing between tokens: its memory bounds no request" in out
    assert "! it generates nothing: there are no speeds of that, and nothing to simulate" in out
    assert "512 read in" in out  # no request is longer
    assert "simulated" not in out


def test_what_if_is_simulated_as_well(said: Callable[..., Any]) -> None:
    words = ("flagship=flagship", *STORY, "--what-if", "kv_cache=fp8", "--simulate", "users=4,requests=8,answer=50")
    lines = said(*words)[1].splitlines()
    head = next(line for line in lines if line.startswith("what if"))
    assert "under traffic" in head
    assert "first token p50 p95 p99" in head
    cases = lines[lines.index(head) + 1 :]
    assert [" tok/s " in line for line in cases if line.startswith(("as it is", "kv_cache=fp8"))] == [True, True]


def test_the_same_model_twice_is_not_meant(said: Callable[..., Any]) -> None:
    code, _, err = said("flagship=flagship", "flagship=flagship", *BOXES)
    assert (code, err) == (2, "error: model 'flagship': found it twice; name each model once\n")
