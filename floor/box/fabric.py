"""The link between the boxes of a split model: what this box has of it, and a meeting with the others on it."""

from __future__ import annotations

import ipaddress
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from floor.box import paths

GREETING = b"floor\n"  # what this end says to whoever comes: another program on the port says something else
PATIENCE = 1.0  # seconds of one attempt; the kernel repeats a lost packet after one
PAUSE = 0.2  # seconds between two attempts
NO_ANSWER = "no answer"
STRANGER = "another program answers there"


def link(interface: str, root: Path = paths.ROOT) -> dict[str, Any]:
    """Given an interface, return {"there", "up", "mtu", "addresses": ["198.51.100.1/24"], "others": [names]}.

    `up` is None where the kernel does not tell, as for a bridge without ports.
    """
    known = addresses()
    folder = paths.under(root, f"/sys/class/net/{interface}")
    state, mtu = _read(folder / "operstate"), _read(folder / "mtu")
    return {
        "there": interface in known or bool(state),
        "up": {"up": True, "down": False, "lowerlayerdown": False}.get(state),
        "mtu": int(mtu) if mtu.isdigit() else None,
        "addresses": known.get(interface, []),
        "others": sorted(name for name in known if name not in (interface, "lo")),
    }


def addresses() -> dict[str, list[str]]:
    """Return this box's addresses with the length of their network's prefix, by interface; link-local ones left out."""
    import psutil

    found: dict[str, list[str]] = {}
    for name, some in psutil.net_if_addrs().items():
        mine = found.setdefault(name, [])
        for one in some:
            if one.family in (socket.AF_INET, socket.AF_INET6) and one.netmask:
                bits = int(ipaddress.ip_address(one.netmask)).bit_count()
                whole = ipaddress.ip_interface(f"{one.address.partition('%')[0]}/{bits}")
                if not whole.ip.is_link_local:
                    mine.append(str(whole))
    return found


def devices(root: Path = paths.ROOT) -> dict[str, dict[str, Any]]:
    """Return this box's RDMA devices: {name: {"state": "ACTIVE", "interfaces": [those of the same card]}}."""
    found = {}
    for folder in sorted(paths.under(root, "/sys/class/infiniband").glob("*")):
        state = _read(folder / "ports/1/state").partition(":")[2].strip()
        interfaces = sorted(place.name for place in folder.glob("device/net/*"))
        found[folder.name] = {"state": state or "unknown", "interfaces": interfaces}
    return found


def _read(place: Path) -> str:
    with suppress(OSError):
        return place.read_text().strip()
    return ""


def meet(
    address: str,
    ports: Sequence[int],
    peers: Sequence[str],
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Given this box's address, ports and the other boxes' addresses, listen on the ports and connect to those of the
    others, until every way was gone both ways or `seconds` are over.

    Return {"reached": {peer: {port: why not, empty where it was}}, "heard": [who came], "held": {port: why it could not
    be listened on}}. Connections come from `address`, so that the others see by which address this box is to be let in.
    """
    meeting = _Meeting(address, clock)
    with ExitStack() as stack:
        stack.callback(meeting.close)
        for port in ports:
            meeting.listen(port)
        meeting.run([(peer, port) for peer in peers for port in ports], clock() + seconds)
    return {
        "reached": {peer: {str(port): meeting.why[peer, port] for port in ports} for peer in peers},
        "heard": sorted({guest for guest, _ in meeting.heard}),
        "held": {str(port): why for port, why in meeting.held.items()},
    }


class _Meeting:
    """Greets in a thread of its own: two boxes that each wait for the other's word must not wait for each other."""

    def __init__(self, address: str, clock: Callable[[], float]) -> None:
        self._address, self._clock = address, clock
        self._family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._selector = selectors.DefaultSelector()
        self._over = threading.Event()
        self.why: dict[tuple[str, int], str] = {}
        self.heard: set[tuple[str, int]] = set()
        self.held: dict[int, str] = {}

    def listen(self, port: int) -> None:
        listener = socket.socket(self._family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self._address, port))
            listener.listen()
        except OSError as error:
            listener.close()
            self.held[port] = error.strerror or str(error)
            return
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, port)

    def run(self, ways: Sequence[tuple[str, int]], ends: float) -> None:
        """Go all `ways`, to a peer's port each, and greet whoever comes; over when all peers have come on them too."""
        self.why = dict.fromkeys(ways, "was not tried")
        guests = {(peer, port) for peer, port in ways if port not in self.held}
        greeter = threading.Thread(target=self._greet, daemon=True)
        greeter.start()
        while True:
            left = [way for way in ways if self.why[way]]
            for peer, port in left:
                self.why[peer, port] = self._attempt(peer, port)
            if (not left and guests <= self.heard) or self._clock() >= ends:
                break
            self._over.wait(PAUSE)
        self._over.set()
        greeter.join()

    def close(self) -> None:
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr] # sockets, all of them
        self._selector.close()

    def _greet(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select(PAUSE):
                listener = key.fileobj
                assert isinstance(listener, socket.socket)  # noqa: S101 -- nothing else was registered
                with suppress(OSError):
                    guest, came_from = listener.accept()
                    with guest:
                        guest.sendall(GREETING)
                    self.heard.add((str(came_from[0]), int(key.data)))

    def _attempt(self, peer: str, port: int) -> str:
        """Return why a port was not reached, empty where it was."""
        try:
            with socket.create_connection((peer, port), PATIENCE, (self._address, 0)) as connection:
                connection.settimeout(2 * PATIENCE)
                return "" if connection.recv(len(GREETING)) == GREETING else STRANGER
        except TimeoutError:
            return NO_ANSWER
        except OSError as error:
            return (error.strerror or str(error)).lower()


def reached(told: Mapping[str, Any], peer: str, port: int) -> str:
    """Given what `meet` returned, a peer and a port, return why it was not reached, empty where it was."""
    return str((told.get("reached") or {}).get(peer, {}).get(str(port), "was not tried"))
