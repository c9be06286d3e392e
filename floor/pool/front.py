"""Brings nginx to the members that were decided: file, reload, and until its old workers take no more requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from floor.box import files, paths
from floor.box.locked import mine
from floor.errors import FloorError

from . import members, rollout
from .nginx import Processes, Reload, now_ticks
from .rollout import Process, Rollout
from .settings import Pool

# Seconds until a reload that was refused is tried again, by how often it was refused in a row. The members decided
# meanwhile are tried with it: a broken nginx.conf is repaired by a person or a deploy, in minutes.
RETRIES = (1.0, 2.0, 5.0, 10.0, 30.0)


def write(pools: Sequence[Pool], names: frozenset[str], root: Path, following: frozenset[str] = frozenset()) -> str:
    """Given the pools, who is in, and who of them takes the next engine key, replace the members file below `root` and
    return its text."""
    text = members.text(pools, names, str(paths.under(root, paths.EMPTY_SOCKET)), following)
    files.write(paths.MEMBERS, text, owner=mine(), root=root)
    return text


def found(root: Path) -> str:
    """Return the text of the members file below `root`, "" if there is none. Raise FloorError if unreadable."""
    place = paths.under(root, paths.MEMBERS)
    try:
        return place.read_text()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise FloorError(f"{place}: cannot be read ({error}); remove it, floor-pool writes it anew") from error


def ensure(pools: Sequence[Pool], root: Path) -> bool:
    """Make a members file that names every upstream of the settings, so that nginx starts; who was in stays in.

    Return whether it had to be written.
    """
    there = found(root)
    names, following = members.read(pools, there), members.followers(pools, there)
    if there == members.text(pools, names, str(paths.under(root, paths.EMPTY_SOCKET)), following):
        return False
    write(pools, names, root, following)
    return True


class Front:
    """nginx as the pool sees it. `members` are those in the file that nginx was last told to read.

    `told` is the master process that is known to have read that file, `written` when it was written, in clock ticks.
    """

    def __init__(
        self,
        pools: Sequence[Pool],
        root: Path,
        reload: Reload,
        processes: Processes,
        log: Callable[[str], None],
        before: tuple[Rollout, tuple[int, int] | None, int] | None,
    ) -> None:
        self._pools, self._root, self._reload, self._processes, self._log = pools, root, reload, processes, log
        self._text = found(root)
        self._refused = 0
        self._retry_at = 0.0
        self._stale = False
        self._rendered: tuple[object, str] = (None, "")
        self.members = members.read(pools, self._text)
        self.following = members.followers(pools, self._text)
        self.away: Mapping[str, str] = {}
        everybody = frozenset(backend.name for pool in pools for backend in pool.backends)
        # Without a former run nobody knows what the workers have: until a reload nobody's absence is acknowledged.
        unknown = Rollout(left=dict.fromkeys(everybody - self.members, 1))
        self.rollout, self.told, self.written = before or (unknown, None, now_ticks())

    def acknowledged(self, backend: str) -> bool:
        """True if the backend is out and no worker of nginx sends it requests any more."""
        return backend not in self.members and not self._stale and self.rollout.acknowledged(backend)

    @property
    def serving(self) -> frozenset[str]:
        """The members that every worker of nginx knows by now."""
        return frozenset(name for name in self.members if self.rollout.serves(name))

    async def bring(
        self,
        names: frozenset[str],
        now: float,
        following: frozenset[str] | None = None,
        away: Mapping[str, str] = members.NOWHERE,
    ) -> None:
        """Given who shall be in, the monotonic time, who takes the next engine key (None: as before), and what is said
        of models that a switch keeps away, do the next thing that is due, at most one reload."""
        self.following = self.following if following is None else following
        self.away = away
        master = self._processes.master()
        self._stale = self._missed(master)
        if self.rollout.under_way:
            self.rollout = rollout.look(self.rollout, self._processes.workers(master), now)
            if self.rollout.late(now):
                await self._again(now)
            return
        if master is None:
            self.rollout = rollout.nobody(self.rollout)
        text = self._render(names)
        if (text != self._text or self._stale) and now >= self._retry_at:
            await self._change(names, text, master, now)

    def _missed(self, master: Process | None) -> bool:
        """Whether nginx may have started with an older file: its master is not known, nor younger than the file."""
        return master is not None and (master.pid, master.started) != self.told and master.started <= self.written

    async def _change(self, names: frozenset[str], text: str, master: Process | None, now: float) -> None:
        workers = self._processes.workers(master)
        try:
            self._write(text)
            await self._reload()
        except FloorError as error:
            if master is not None:
                self._keep(now, error)
                return
            # nginx does not run, which is no fault of the members: it reads them when it starts.
        self.told = None if master is None else (master.pid, master.started)
        self._refused, self._retry_at = 0, 0.0
        self.rollout = rollout.written(self.rollout, self.members, names, workers, now)
        self._text, self.members = text, names

    def _keep(self, now: float, error: FloorError) -> None:
        """The reload was refused: put the file of before back, so that nginx can also start again with it."""
        wait = RETRIES[min(self._refused, len(RETRIES) - 1)]
        self._refused += 1
        self._retry_at = now + wait
        said = f"nginx was not reloaded, its members stay as they were, next try in {wait:g} s: {error}"
        try:
            self._write(self._text or self._render(frozenset()))
        except FloorError as second:
            said += f"\n{second}; the members file may name other members than nginx has"
        self._log(said)

    async def _again(self, now: float) -> None:
        """nginx was told, said nothing, and kept its old workers."""
        self._log(
            f"nginx was told {rollout.LIMIT:g} s ago to read {paths.MEMBERS} and still serves with its old workers; "
            "telling it again; `nginx -t` with floor's configuration says what it does not like"
        )
        self.rollout = rollout.again(self.rollout, now)
        try:
            await self._reload()
        except FloorError as error:
            self._log(f"nginx was not reloaded: {error}")

    def _render(self, names: frozenset[str]) -> str:
        wanted = (names, self.following, dict(self.away))
        if self._rendered[0] != wanted:  # a template takes 2 ms, and this is asked twice a second
            empty = str(paths.under(self._root, paths.EMPTY_SOCKET))
            self._rendered = (wanted, members.text(self._pools, names, empty, self.following, self.away))
        return self._rendered[1]

    def _write(self, text: str) -> None:
        files.write(paths.MEMBERS, text, owner=mine(), root=self._root)
        self.written = now_ticks()
