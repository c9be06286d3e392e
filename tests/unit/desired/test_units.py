"""O15 to O22, and what a unit tells of the process that it starts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from floor.config.model import Config, Health, ResolvedCopy
from floor.desired.copies import copy
from floor.desired.state import BoxState, Kind, Launch, Unit
from tests import argv
from tests.unit.desired import unitfile
from tests.unit.desired.example import make
from tests.unit.render import systemd_reader

DOCKER, NATIVE = ("spark-a", "floor-copy-flagship.service"), ("spark-b", "floor-copy-small.embed.service")
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r"), max_size=50)
COPIES = pytest.mark.parametrize(("box", "name"), [DOCKER, NATIVE], ids=["docker", "native"])


def _unit(states: dict[str, BoxState], box: str, name: str) -> Unit:
    return next(unit for unit in states[box].units if unit.name == name)


def _argv(states: dict[str, BoxState], box: str, name: str) -> list[str]:
    return systemd_reader.command_line(unitfile.read(states[box], name).one("Service", "ExecStart"))


def test_systemd_starts_exactly_what_is_planned(states: dict[str, BoxState]) -> None:
    for box, state in states.items():
        for unit in state.units:
            if unit.kind not in (Kind.TARGET, Kind.FIREWALL, Kind.TIMER):  # those have no process
                assert tuple(_argv(states, box, unit.name)) == unit.launch.argv


def _made(resolved: ResolvedCopy) -> tuple[Unit, unitfile.UnitFile]:
    unit, (file, _) = copy(resolved, "192.0.2.9", "replicas", Health())
    return unit, unitfile.parse(file.text)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(TEXTS | st.sampled_from(argv.words()))
def test_any_text_in_arguments_and_environment(config: Config, text: str) -> None:
    for resolved in (config.copies("flagship")[0], config.copies("small.embed")[0]):
        odd = {"list": ["x" + text, "y"], "mapping": {text: [text]}, "text": text}
        unit, found = _made(replace(resolved, args=odd, env={"ODD": text}))
        words = systemd_reader.command_line(found.one("Service", "ExecStart"))
        assert tuple(words) == unit.launch.argv
        assert json.loads(words[words.index("--mapping") + 1]) == {text: [text]}
        assert words[words.index("--list") + 1] == "x" + text
        env = [systemd_reader.assignment(line) for line in found["Service", "Environment"]]
        assert f"ODD={text}" in [*env, *words]


def test_all_nasty_words_at_once(config: Config) -> None:
    resolved = replace(config.copies("small.embed")[0], args={"nasty": ["x", *map("={}".format, argv.words())]})
    unit, found = _made(resolved)
    assert tuple(systemd_reader.command_line(found.one("Service", "ExecStart"))) == unit.launch.argv


@COPIES
def test_a_copy_starts_in_its_mode_only(states: dict[str, BoxState], box: str, name: str) -> None:
    unit = unitfile.read(states[box], name)
    assert unit["Service", "ExecCondition"][0] == "/usr/bin/grep -qx replicas /etc/floor/mode"
    assert "floor-firewall.service" in unit["Unit", "Wants"][0].split()
    assert "nft -f /etc/floor/firewall.nft" in unit["Service", "ExecStartPre"][0]
    assert not {("Unit", "Conflicts"), ("Unit", "Requires"), ("Unit", "BindsTo")} & set(unit)


@COPIES
def test_active_means_warm(states: dict[str, BoxState], box: str, name: str) -> None:
    unit = unitfile.read(states[box], name)
    settings_file = f"/etc/floor/engines/{name.removeprefix('floor-copy-').removesuffix('.service')}.json"
    assert unit.one("Service", "Type") == "exec"
    assert unit.one("Service", "ExecStartPost") == (
        f"+/opt/floor/current/bin/python -I -m floor.agent.warm {settings_file}"
    )
    assert states[box].file(settings_file) is not None


@COPIES
def test_it_comes_back_but_not_for_ever(states: dict[str, BoxState], box: str, name: str) -> None:
    """The limits count in [Unit] only; in [Service] systemd ignores one of the two."""
    unit = unitfile.read(states[box], name)
    assert unit.one("Service", "Restart") == "always"
    assert ("Service", "StartLimitIntervalSec") not in unit
    interval, burst = (int(unit.one("Unit", f"StartLimit{key}")) for key in ("IntervalSec", "Burst"))
    start, restart = (int(unit.one("Service", key)) for key in ("TimeoutStartSec", "RestartSec"))
    assert interval > burst * (start + restart)


@COPIES
def test_nobody_waits_shorter_than_what_he_waits_for(states: dict[str, BoxState], box: str, name: str) -> None:
    """TimeoutStopSec > docker stop > --shutdown-timeout > proxy_read_timeout, and the proxy's workers outlive it."""
    unit, words = unitfile.read(states[box], name), _argv(states, box, name)
    engine = int(words[words.index("--shutdown-timeout") + 1])
    model = name.removeprefix("floor-copy-").removesuffix(".service")
    server = states["spark-a"].file(f"/etc/floor/nginx/servers/{model}.conf")
    process = states["spark-a"].file("/etc/floor/nginx/process.conf")
    assert server is not None
    assert process is not None
    read = int(re.findall(r"proxy_read_timeout (\d+)s;", server.text)[0])
    leave = int(re.findall(r"worker_shutdown_timeout (\d+)s;", process.text)[0])
    first, *stops = unit["Service", "ExecStop"]
    docker = [int(line.split()[3]) for line in stops]
    chain = [int(unit.one("Service", "TimeoutStopSec")), *docker, engine, read]
    assert chain == sorted(set(chain), reverse=True)
    assert int(first.split()[-1]) == read
    proxy = int(unitfile.read(states["spark-a"], "floor-proxy.service").one("Service", "TimeoutStopSec"))
    assert proxy > leave > read


@COPIES
def test_the_key_is_in_no_argument(states: dict[str, BoxState], box: str, name: str) -> None:
    unit = unitfile.read(states[box], name)
    files = ["/etc/floor/secrets/engine.env", "-/etc/floor/secrets/keys.env"]
    assert unit["Service", "EnvironmentFile"] == files
    assert not [word for word in _argv(states, box, name) if "API_KEY=" in word or word == "--api-key"]


@COPIES
def test_what_was_compiled_outlives_a_restart(states: dict[str, BoxState], box: str, name: str) -> None:
    model = name.removeprefix("floor-copy-").removesuffix(".service")
    assert unitfile.read(states[box], name).one("Service", "CacheDirectory") == f"floor/{model}"


def test_a_container_leaves_nothing_behind(states: dict[str, BoxState]) -> None:
    unit = unitfile.read(states["spark-a"], DOCKER[1])
    gone = "-/usr/bin/docker rm -f floor-copy-flagship"
    assert gone in unit["Service", "ExecStartPre"]
    assert unit["Service", "ExecStopPost"] == [gone]
    assert unit["Service", "ExecStop"][1:] == ["/usr/bin/docker stop -t 1840 floor-copy-flagship"]
    assert unit.one("Service", "SuccessExitStatus") == "143 137"
    assert "docker.service" in unit.one("Unit", "After").split()


@COPIES
def test_whoever_stops_it_it_leaves_the_pools_first(states: dict[str, BoxState], box: str, name: str) -> None:
    """Before docker is told; a failure of it (-) stops nobody, and it reads the keys (+)."""
    unit, model = unitfile.read(states[box], name), name.removeprefix("floor-copy-").removesuffix(".service")
    argv = f"-+/opt/floor/current/bin/python -I -m floor.agent.leave {name} /etc/floor/engines/{model}.json"
    assert unit["Service", "ExecStop"][0].startswith(f"{argv} --within ")
    settings = states[box].file("/etc/floor/leave.json")
    assert settings is not None
    assert json.loads(settings.text)["proxies"] == [{"box": "spark-a", "status_url": "http://192.0.2.11:8099/status"}]


@COPIES
def test_it_stops_before_what_it_still_needs(states: dict[str, BoxState], box: str, name: str) -> None:
    """systemd stops in the order opposite to After=."""
    after = set(unitfile.read(states[box], name).one("Unit", "After").split())
    assert {
        "network-online.target",
        "floor-firewall.service",
        "floor-agent.service",
        "floor-pool.service",
        "floor-proxy.service",
    } <= after


def test_what_docker_is_told(states: dict[str, BoxState]) -> None:
    words = _argv(states, *DOCKER)
    pairs = list(pairwise(words))
    mounted = [value for flag, value in pairs if flag == "--volume"]
    env = [value for flag, value in pairs if flag == "--env"]
    assert mounted == [
        "/var/cache/floor/flagship:/var/cache/floor/flagship",
        "/srv/templates:/templates:ro",
        "/models/flagship-nvfp4:/models/flagship-nvfp4:ro",
    ]
    assert {"HF_HUB_OFFLINE=1", "NCCL_DEBUG=a b", "VLLM_API_KEY"} <= set(env)
    assert {("--gpus", "all"), ("--host", "192.0.2.11"), ("--port", "8000")} <= set(pairs)
    assert _unit(states, *DOCKER).launch.image == "registry.example/vllm:1"
    assert _unit(states, *DOCKER).launch.env == {}


def test_a_native_engine_takes_its_children_along(states: dict[str, BoxState]) -> None:
    """vllm#55510: what outlives the main process keeps the card; SIGTERM to all at once would cut the drain."""
    unit = unitfile.read(states["spark-b"], NATIVE[1])
    assert unit.one("Service", "KillMode") == "mixed"
    assert unit.one("Service", "User") == "floor"
    assert unit.one("Service", "LimitMEMLOCK") == "infinity"


def test_the_environment_of_a_native_engine_is_what_was_planned(states: dict[str, BoxState]) -> None:
    launch = _unit(states, *NATIVE).launch
    lines = unitfile.read(states["spark-b"], NATIVE[1])["Service", "Environment"]
    found = dict(systemd_reader.assignment(line).split("=", 1) for line in lines)
    assert found == {**launch.env, "FLOOR_LAUNCH": launch.digest}
    assert launch.env["XDG_CACHE_HOME"] == "/var/cache/floor/small.embed"


def test_a_start_waits_for_the_card_and_fails_without() -> None:
    wait = unitfile.read(make()["spark-a"], DOCKER[1])["Service", "ExecStartPre"][1]
    shell, flag, script = systemd_reader.command_line(wait)
    assert (shell, flag) == ("/bin/sh", "-c")
    assert script.startswith("timeout 120 sh -c 'until timeout 20 nvidia-smi -L")
    assert "gpus: none" in script
    assert script.endswith("exit 1; } >&2")
    without = make(("volumes: [", "gpus: none, volumes: ["))["spark-a"]
    assert not [line for line in unitfile.read(without, DOCKER[1])["Service", "ExecStartPre"] if "nvidia" in line]
    assert "--gpus" not in _argv({"spark-a": without}, *DOCKER)


def test_a_native_start_waits_where_there_is_a_driver(states: dict[str, BoxState]) -> None:
    wait = unitfile.read(states["spark-b"], NATIVE[1])["Service", "ExecStartPre"][1]
    assert systemd_reader.command_line(wait)[2].startswith("command -v nvidia-smi >/dev/null || exit 0; timeout 120 ")


def test_every_engine_is_wanted_by_the_one_target(states: dict[str, BoxState]) -> None:
    for box, state in states.items():
        for unit in state.units:
            wanted = {Kind.COPY: "floor.target", Kind.FIREWALL: "multi-user.target nftables.service"}.get(
                unit.kind, "multi-user.target"
            )
            found = unitfile.read(states[box], unit.name).get(("Install", "WantedBy"), [])
            assert found == ([] if unit.kind is Kind.ROUND else [wanted])  # its timer starts it, and nobody else


def test_every_process_tells_what_it_was_started_with(states: dict[str, BoxState]) -> None:
    for box, state in states.items():
        for unit in state.units:
            if unit.kind not in (Kind.TARGET, Kind.FIREWALL, Kind.TIMER):
                lines = unitfile.read(states[box], unit.name)["Service", "Environment"]
                assert f"FLOOR_LAUNCH={unit.launch.digest}" in lines


@pytest.mark.parametrize(
    ("change", "restarts"),
    [
        (("max_requests: 12", "max_requests: 13"), True),
        (("registry.example/vllm:1", "registry.example/vllm:2"), True),
        (("num_speculative_tokens: 4", "num_speculative_tokens: 3"), True),
        (('NCCL_DEBUG: "a b"', "NCCL_DEBUG: INFO"), True),
        (("weight: 3", "weight: 2"), False),
        (("stall: 120", "stall: 130"), False),
        (("listen: 8080", "listen: 8088"), False),
        (("utilization: 0.74", "utilization: 0.75"), False),
        (("start_time: 90", "start_time: 91"), False),
    ],
    ids=lambda value: str(value),
)
def test_what_restarts_the_copy_on_the_first_box(change: tuple[str, str], restarts: bool) -> None:
    first = ("    context: 262144", "    context: 262144\n    max_requests: 12")
    before, after = make(first), make(first, change)
    assert (_unit(before, *DOCKER).launch.digest != _unit(after, *DOCKER).launch.digest) is restarts


def test_a_new_release_restarts_services_and_no_engine() -> None:
    before, after = make(release="1"), make(release="2")
    changed = {unit.name for unit in before["spark-a"].units if _unit(after, "spark-a", unit.name) != unit}
    assert changed == {"floor-pool.service", "floor-agent.service", "floor-guard.service"}


def test_a_digest_holds_every_part() -> None:
    plain = Launch(("a",), {"x": "1"}, "image", ("extra",))
    others = [
        Launch(("a", ""), {"x": "1"}, "image", ("extra",)),
        Launch(("a",), {"x": "2"}, "image", ("extra",)),
        Launch(("a",), {}, "image", ("extra",)),
        Launch(("a",), {"x": "1"}, None, ("extra",)),
        Launch(("a",), {"x": "1"}, "image", ()),
    ]
    assert len({plain.digest, *(other.digest for other in others)}) == 6
    assert re.fullmatch("[0-9a-f]{16}", plain.digest)
