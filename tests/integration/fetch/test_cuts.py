"""The work on one box against a real server that cuts, lies, stalls and refuses: it ends whole, or says which file."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from floor.box import fetching, manifest, weights
from floor.box import hub as api
from floor.box.download import DamagedError, Patience
from floor.box.hub import DeniedError, UnreachableError
from floor.box.manifest import Manifest, Origin
from floor.box.report import Report
from floor.errors import FloorError, RefusedError
from tests.hub import REPO, REVISION, TOKEN, Hub, made

ORIGIN = Origin(REPO, REVISION)
PATIENCE = Patience(timeout=0.5, tries=3, wait=0.01)
WEIGHTS = "model-00001-of-00003.safetensors"
Bring = Callable[..., Manifest]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models" / "flagship"


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return Report(tmp_path / "state.json", "")


@pytest.fixture
def bring(hub: Hub, folder: Path, report: Report) -> Iterator[Bring]:
    """Fetch the whole repository into the folder."""
    with httpx.Client(follow_redirects=True, trust_env=False) as client:

        def run(token: str | None = None, origin: Origin = ORIGIN, patience: Patience = PATIENCE) -> Manifest:
            source = fetching.Source("hub", (hub.url,), origin, token)
            files = api.listing(client, hub.url, REPO, REVISION, token).files
            report.done = 0
            return fetching.fetch(client, folder, files, source, report, patience=patience, sleep=lambda _: None)

        yield run


def contents(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".floor")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize("seed", range(20))
def test_cut_anywhere_it_goes_on_and_ends_with_the_same(
    hub: Hub, folder: Path, bring: Bring, report: Report, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 -- the same each time
    hub.faults.cuts = [chance.randrange(1, 300_000) for _ in range(chance.randrange(1, 6))]
    hub.faults.ranges = chance.random() > 0.2
    hub.faults.statuses = chance.choices((0, 503, 500, 429), k=3)
    faults = len(hub.faults.cuts) + len(hub.faults.statuses)  # all of them may meet one file, one after the other
    made = bring(patience=Patience(timeout=5, tries=faults + 1, wait=0.01))
    assert contents(folder) == hub.files
    assert report.done == made.size == sum(map(len, hub.files.values()))
    assert manifest.read(folder) == made
    assert all(entry.sha256 for entry in made.files)
    assert not weights.part_of(folder).exists()


def test_what_has_come_is_not_asked_for_again(hub: Hub, folder: Path, bring: Bring) -> None:
    hub.files = {WEIGHTS: hub.files[WEIGHTS]}
    hub.faults.cuts = [60_000, *([0] * 99)]
    with pytest.raises(UnreachableError):
        bring()
    assert not folder.exists()
    come = weights.size_of(weights.part_of(folder))
    assert come == 60_000
    hub.faults.cuts, hub.sent = [], 0
    bring()
    assert contents(folder) == hub.files
    assert hub.sent == sum(map(len, hub.files.values())) - come


def test_a_whole_folder_is_not_fetched_again(hub: Hub, bring: Bring) -> None:
    made = bring()
    hub.asked.clear()
    assert bring() == made
    assert hub.asked == []


def test_weights_that_somebody_copied_there_are_read_and_kept(hub: Hub, folder: Path, bring: Bring) -> None:
    for path, data in hub.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / "config.json").unlink()
    bring()
    assert [path for path, _ in hub.asked] == ["config.json"]
    assert manifest.read(folder)


def test_a_damaged_file_is_named_and_only_that_is_fetched_again(
    hub: Hub, folder: Path, bring: Bring, report: Report
) -> None:
    first = bring()
    data = bytearray((folder / WEIGHTS).read_bytes())
    data[1000] ^= 1
    (folder / WEIGHTS).write_bytes(data)
    hub.asked.clear()
    assert bring().digest == first.digest
    assert [path for path, _ in hub.asked] == [WEIGHTS]
    assert any(note.startswith(f"{WEIGHTS}: is damaged") for note in report.notes)
    assert contents(folder) == hub.files


def test_reading_again_finds_what_size_and_time_do_not_tell(folder: Path, bring: Bring, report: Report) -> None:
    bring()
    before = (folder / WEIGHTS).stat()
    data = bytearray((folder / WEIGHTS).read_bytes())
    data[1000] ^= 1
    (folder / WEIGHTS).write_bytes(data)
    os.utime(folder / WEIGHTS, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert weights.look(str(folder))["changed"] == []
    assert fetching.check(folder, report) == [WEIGHTS]
    assert weights.look(str(folder))["changed"] == [WEIGHTS]
    bring()
    assert weights.look(str(folder))["changed"] == []


def test_a_wrong_byte_on_the_way_costs_that_file_once(hub: Hub, folder: Path, bring: Bring) -> None:
    hub.faults.damaged = {WEIGHTS: 1}
    bring()
    assert contents(folder) == hub.files


def test_what_stays_wrong_is_named_and_the_folder_never_looks_whole(hub: Hub, folder: Path, bring: Bring) -> None:
    hub.faults.damaged = {WEIGHTS: 99}
    with pytest.raises(DamagedError, match=rf"{WEIGHTS} arrives damaged: 300000 bytes with sha256 [0-9a-f]+, must be"):
        bring()
    assert not folder.exists()


def test_a_small_file_is_held_to_gits_id(hub: Hub, bring: Bring) -> None:
    hub.faults.damaged = {"config.json": 99}
    with pytest.raises(DamagedError, match=r"config\.json arrives damaged: .* must be 22 with git id [0-9a-f]{40}"):
        bring()


def test_a_silent_server_is_asked_again(hub: Hub, folder: Path, bring: Bring) -> None:
    hub.faults.stall = 1.0
    bring()
    assert contents(folder) == hub.files


def test_a_server_that_brings_nothing_any_more_is_told(hub: Hub, folder: Path, bring: Bring) -> None:
    hub.faults.cuts = [0] * 99
    with pytest.raises(UnreachableError, match=r"\(3 tries\)$"):
        bring()
    assert not folder.exists()


def test_when_nothing_comes_any_more_the_files_behind_are_not_tried_each(hub: Hub, bring: Bring) -> None:
    hub.files = {f"{n:02}.bin": b"x" * 100 for n in range(40)}
    hub.faults.cuts = [0] * 999
    with pytest.raises(UnreachableError):
        bring()
    assert len({path for path, _ in hub.asked}) <= 2 * fetching.AT_ONCE


def test_a_gated_repository_says_how_to_get_in(hub: Hub, folder: Path, bring: Bring) -> None:
    hub.gated = True
    with pytest.raises(DeniedError, match=r"is gated: accept its terms .* \(no token: set HF_TOKEN\)"):
        bring()
    bring(TOKEN)
    assert contents(folder) == hub.files


def test_a_revision_that_is_not_there(hub: Hub) -> None:
    hub.names["v9"] = "other"
    with httpx.Client() as client, pytest.raises(DeniedError, match="org/flagship has no revision v9; look at"):
        api.listing(client, hub.url, REPO, "v9", None)


def test_an_endpoint_that_is_no_hub(hub: Hub) -> None:
    hub.listing = lambda: {"hello": 1}  # type: ignore[method-assign]
    with (
        httpx.Client() as client,
        pytest.raises(FloorError, match="answers no listing of org/flagship; is HF_ENDPOINT"),
    ):
        api.listing(client, hub.url, REPO, REVISION, None)


def test_while_files_are_put_right_the_folder_says_so(hub: Hub, folder: Path, bring: Bring) -> None:
    bring()
    (folder / WEIGHTS).write_bytes(b"x")
    hub.faults.damaged = {WEIGHTS: 99}
    with pytest.raises(DamagedError):
        bring()
    assert weights.look(str(folder))["incomplete"] == f"1 files: {WEIGHTS}"
    hub.faults.damaged = {}
    bring()
    assert weights.look(str(folder))["incomplete"] is None
    assert contents(folder) == hub.files


def test_a_link_in_its_way_is_not_followed(folder: Path, tmp_path: Path, bring: Bring) -> None:
    (tmp_path / "elsewhere").mkdir()
    folder.parent.mkdir(parents=True)
    weights.part_of(folder).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match="is not a folder of root's alone; look at it, then remove it"):
        bring()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_that_leads_out_of_a_folder_that_is_there_is_not_followed(
    folder: Path, tmp_path: Path, bring: Bring
) -> None:
    (tmp_path / "elsewhere").mkdir()
    folder.mkdir(parents=True)
    (folder / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match=r"flagship/sub: leads out of .*/flagship; put a folder in the place"):
        bring()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    (folder / "sub").unlink()
    bring()
    assert (folder / "sub" / "tokenizer.json").is_file()


def test_what_an_older_fetch_left_does_not_come_in(hub: Hub, folder: Path, bring: Bring) -> None:
    part = weights.begin(folder, [])
    (part / "old.safetensors").write_bytes(b"old")
    bring()
    assert contents(folder) == hub.files == made()


def test_everybody_may_read_what_root_has_fetched(folder: Path, bring: Bring) -> None:
    bring()
    modes = {oct(path.stat().st_mode & 0o777) for path in folder.rglob("*") if path.is_file()}
    assert modes == {"0o644"}
    assert {path.stat().st_mode & 0o777 for path in (folder, folder / "sub")} == {0o755}
