"""Where things lie on a box. Every room that names such a path takes it from here."""

from __future__ import annotations

from pathlib import Path

OPT = Path("/opt/floor")
CURRENT = OPT / "current"
PYTHON = CURRENT / "bin" / "python"

ETC = Path("/etc/floor")
MODE = ETC / "mode"
NGINX = ETC / "nginx"
NGINX_CONF = NGINX / "nginx.conf"
ENGINES = ETC / "engines"
GROUPS = ETC / "groups"
POOL_SETTINGS = ETC / "pool.json"
AGENT_SETTINGS = ETC / "agent.json"
GROUP_SETTINGS = ETC / "group.json"  # of the service that watches over the parts of groups, and of their gates
LEAVE_SETTINGS = ETC / "leave.json"
METRICS_SETTINGS = ETC / "metrics.json"
FIREWALL = ETC / "firewall.nft"
KEEPALIVED = ETC / "keepalived"
KEEPALIVED_CONF = KEEPALIVED / "keepalived.conf"
ADDRESS_SETTINGS = ETC / "address.json"

SECRETS = ETC / "secrets"
ENGINE_KEY = SECRETS / "engine.key"
ENGINE_ENV = SECRETS / "engine.env"
LLAMACPP_ENV = SECRETS / "engine-llamacpp.env"
ENGINE_KEY_CONF = SECRETS / "engine-key.conf"
STATUS_KEY = SECRETS / "status.key"
KEYS_ENV = SECRETS / "keys.env"  # which engine key a process was started with, as a digest
ENGINE_NEXT_CONF = SECRETS / "engine-key-next.conf"
ENGINE_NEXT = SECRETS / "engine.next"  # this one and the next are there only while that key is being replaced
STATUS_NEXT = SECRETS / "status.next"
CLIENTS = SECRETS / "clients.json"
CLIENTS_CONF = SECRETS / "clients.conf"

UNITS = Path("/etc/systemd/system")

RUN = Path("/run/floor")
MEMBERS = RUN / "nginx" / "members.conf"
EMPTY_SOCKET = RUN / "nginx" / "empty.sock"
POOL_STATE = RUN / "pool" / "state.json"
METRICS_STATE = RUN / "metrics" / "state.json"  # what copies have counted
METRICS_HOUR = RUN / "metrics" / "hour.json"  # what its page draws
METRICS_SOCKET = RUN / "metrics" / "page.sock"
DIRECT = RUN / "direct.json"  # who asked engines past the proxy, as the watchdog saw it last
LEAVING = RUN / "leaving"  # a mark for each copy that finishes what it has before it is stopped
DRAINED = RUN / "drained"  # and for each that floor itself stops, which has finished already
PARTS = RUN / "parts"  # a mark of each part of a group: the start that it is of, and what that has joined

ADDRESS_RUN = RUN / "address"
ADDRESS_LEAVES = ADDRESS_RUN / "leaves.json"  # while this box hands the shared address over
ADDRESS_CATCHES = RUN / "pool" / "catches.json"  # and while it sends on what belongs to one that does
ADDRESS_READ = ADDRESS_RUN / "read.conf"  # what keepalived has read last, as it was then

LIB = Path("/var/lib/floor")
OPERATION = LIB / "operation.json"
LOCK = LIB / "lock"
DRAINS = LIB / "drains.json"
EVENTS = LIB / "events.jsonl"
CALIBRATIONS = LIB / "calibrations.json"  # what engines were measured at by `floor calibrate`
STARTS = LIB / "starts.json"  # how long engines took to start and to stop here
TESTS = LIB / "tooltest"  # what the tool test found of engines here, and baselines of builds
AWAY = LIB / "away.json"  # which models a switch keeps away, and until when it expects that
CONFIG = LIB / "floor.yaml"
CONFIG_HISTORY = LIB / "configs.json"
REMOVED = LIB / "removed"
TAKEN_OVER = LIB / "taken-over.json"  # what others ran here, and all that undoes its removal
TAKEN_FILES = LIB / "taken-over"
CACHE = Path("/var/cache/floor")
NGINX_PID = RUN / "nginx" / "nginx.pid"
WORK = LIB / "work"  # held shared by every call that changes something, alone by whoever takes over
NEEDRESTART = Path("/etc/needrestart/conf.d/floor.conf")

FETCH_RUN = RUN / "fetch"  # what is being fetched now: jobs, their state, their locks
BENCH_RUN = RUN / "bench"  # orders of a measurement that is about to begin
FETCH_UNIT = "floor-fetch-"  # how the units of a fetch begin: they come and go beside what is deployed
FETCH_SPOOL = LIB / "fetch"  # images on their way from box to box
GUARD_SETTINGS = ETC / "guard.json"
GUARD_STATE = RUN / "guard" / "state.json"
GUARD_STARTS = RUN / "guard/starts"  # touched when a copy is about to start, so that the guard looks at once
GUARD_HISTORY = LIB / "guard-history.json"
HOLDS = LIB / "holds.json"
HOLDS_NEW = RUN / "guard/holds.json"  # those that are not on the disk yet, or cannot be
WATCHDOG_SETTINGS = ETC / "watchdog.json"
WATCHDOG_STATE = RUN / "watchdog" / "state.json"

ROOT = Path("/")


def under(root: Path, path: Path | str) -> Path:
    """Given another root folder (tests, staging) and an absolute path of a box, return where it lies there."""
    return root / str(path).lstrip("/")
