"""Values of floor.yaml that YAML, ssh, systemd, docker or a shell could change, deployed: they arrive as they are.

One deployment carries all of them: a copy on boxa as a program of the box, a copy on boxb in Docker. The words are
those of tests/cases/argv and thirty drawn at random.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml

from floor.config import load
from floor.desired.build import build
from floor.desired.copies import unit_name
from floor.desired.state import BoxFacts, Launch
from tests import argv
from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.deployment import chat, invocations, pool, set_up
from tests.lab.floor import Floor
from tests.lab.sites import DOCKER, MODEL, site

SOURCE = "/srv/tiny 100% $HOME 'x' ;#"
SEED = 20261130
DRAWN = 30
TOKENS = (
    "%",
    "%%",
    "$",
    "${",
    "}",
    "$$",
    "\\",
    '"',
    "'",
    " ",
    "\t",
    ";",
    "#",
    "-",
    "=",
    "{",
    "[",
    ":",
    "\u0085",
    "\U0001f3ed",
)
UNIT = unit_name(MODEL)


def drawn() -> list[str]:
    """Thirty words, the same in each run: what other programs read as theirs, among any characters of Unicode."""
    chance = random.Random(SEED)  # noqa: S311 # not for secrets
    anything = [chr(chance.choice((chance.randrange(0x20, 0x7F), chance.randrange(0xA0, 0xD7FF)))) for _ in range(60)]
    return ["".join(chance.choices([*TOKENS * 3, *anything], k=chance.randint(1, 24))) for _ in range(DRAWN)]


def deployable(word: str) -> bool:
    """floor refuses control characters in floor.yaml, and ends of lines in a unit."""
    return all(character >= " " or character == "\t" for character in word)


def quoted(word: str) -> str:
    """A text as YAML has it, in ASCII."""
    return yaml.safe_dump(word, default_style='"', width=10**6).strip()


def nasty_site(lab: Lab, words: list[str]) -> str:
    """The lab's floor.yaml with every word as an argument and as a variable, and shapes that only arguments have."""
    args = [f"word-{number:03}: {quoted(word)}" for number, word in enumerate(words)]
    args += ["shape-json: {method: mtp, k: [1, null, 'a b']}", "shape-list: ['a b', '%', '$x']", "shape-bare: true"]
    args += ["shape-no: false", "shape-dash: '-1'", "shape-number: 0.25", "shape.dotted: '{}'"]
    env = [f"WORD_{number:03}: {quoted(word)}" for number, word in enumerate(words)]
    text = site(lab, load_time=0, extra=f"    env: {{{', '.join(env)}}}")
    text = text.replace("args: {", f"args: {{{', '.join(args)}, ").replace("/srv/tiny", quoted(SOURCE))
    docker = DOCKER.replace(", '/srv/tiny:/srv/tiny:ro'", "")
    return text.replace("replicas: [boxa, boxb]", f"replicas: [boxa, {{box: boxb, runtime: {docker}}}]")


@pytest.fixture(scope="module")
def words() -> list[str]:
    return [*filter(deployable, argv.words()), *drawn()]


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, words: list[str], tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """All words deployed, once for this module."""
    floor = Floor(clean_lab, tmp_path_factory.mktemp("site"))
    floor.write(nasty_site(clean_lab, words))
    set_up(clean_lab, floor)
    for box in clean_lab.boxes.values():
        box.run(["mkdir", "-p", SOURCE])
    floor("deploy", "--mode", "replicas")
    return floor


def planned(floor: Floor, box: str) -> Launch:
    """What floor's own plan says that the copy on a box is started with."""
    facts = {name: BoxFacts(other.address) for name, other in floor.lab.boxes.items()}
    state = build(load(Path(floor.config)).config, "replicas", facts, "test")[box]
    return next(unit.launch for unit in state.units if unit.name == UNIT)


def lines(box: Box, path: str) -> list[str]:
    """What a file of /proc holds, one by one."""
    return box.run(["cat", path]).stdout.removesuffix("\0").split("\0")


def environment(box: Box, pid: int) -> dict[str, str]:
    return dict(line.split("=", 1) for line in lines(box, f"/proc/{pid}/environ"))


def test_every_word_is_in_the_plan(floor: Floor, words: list[str]) -> None:
    """So that the comparisons below are about something."""
    launch = planned(floor, "boxa")
    assert len(words) >= 100
    for number, word in enumerate(words):
        flag = f"--word-{number:03}"
        assert f"{flag}={word}" in launch.argv or launch.argv[launch.argv.index(flag) + 1] == word
        assert launch.env[f"WORD_{number:03}"] == word
    assert SOURCE in launch.argv
    assert '{"method":"mtp","k":[1,null,"a b"]}' in launch.argv


def test_a_program_of_the_box_has_the_planned_arguments_and_environment(floor: Floor) -> None:
    box, launch = floor.lab.boxes["boxa"], planned(floor, "boxa")
    pid = box.pid(UNIT)
    assert lines(box, f"/proc/{pid}/cmdline") == list(launch.argv)
    found = environment(box, pid)
    assert {name: found.get(name) for name in launch.env} == dict(launch.env)


def test_an_engine_in_a_container_has_the_planned_arguments_and_environment(floor: Floor, words: list[str]) -> None:
    """The docker client has them, and the process inside has what is behind the image's name."""
    box, launch = floor.lab.boxes["boxb"], planned(floor, "boxb")
    client = list(launch.argv)
    assert lines(box, f"/proc/{box.pid(UNIT)}/cmdline") == client
    init = int(box.run(["docker", "inspect", "-f", "{{.State.Pid}}", UNIT.removesuffix(".service")]).stdout)
    (engine,) = map(int, box.run(["cat", f"/proc/{init}/task/{init}/children"]).stdout.split())
    at = client.index("--entrypoint")
    assert lines(box, f"/proc/{engine}/cmdline") == [client[at + 1], *client[at + 3 :]]
    found = environment(box, engine)
    wanted = {f"WORD_{number:03}": word for number, word in enumerate(words)}
    assert {name: found.get(name) for name in wanted} == wanted


def test_both_answer_and_again_there_is_nothing_to_do(floor: Floor) -> None:
    """What floor reads back from the boxes is what it wrote, for every word."""
    assert pool(floor.lab) == ["flagship@boxa", "flagship@boxb"]
    assert chat(floor.lab)[0] == 200
    before = invocations(floor.lab)
    assert floor("deploy").stdout.strip() == "nothing to do"
    assert invocations(floor.lab) == before


def test_one_changed_character_restarts_one_copy_after_the_other(floor: Floor, words: list[str]) -> None:
    """The difference is told, and nothing of it is lost in telling."""
    floor.edit("shape-dash: '-1'", "shape-dash: '-2%$'")
    assert "--shape-dash=-1" in floor("deploy", code=5).stderr  # what is the model's may be part of its build
    shown = floor("deploy", "--ungated", "--dry-run", code=3).stdout
    assert "--shape-dash=-1" in shown
    assert "-2%$" in shown
    floor("deploy", "--ungated")
    for name in floor.lab.boxes:
        assert "--shape-dash=-2%$" in planned(floor, name).argv
    box = floor.lab.boxes["boxa"]
    assert lines(box, f"/proc/{box.pid(UNIT)}/cmdline") == list(planned(floor, "boxa").argv)
