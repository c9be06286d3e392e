"""What is wrong with a certificate is told before nginx is asked to serve with it."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from floor.box import certificate
from floor.box.certificate import look

CERT, KEY = "/etc/ssl/floor/chat.pem", "/etc/ssl/floor/chat.key"
DAY = 86400.0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two certificates with their keys, as texts: one for 30 days, one until 2060; and a key with a password."""
    folder = tmp_path_factory.mktemp("made")
    found = {}
    for name, days in (("a", 30), ("b", 365 * 40)):
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        out = ["-days", str(days), "-subj", "/CN=a", "-out", folder / f"{name}.pem", "-keyout", folder / f"{name}.key"]
        subprocess.run([*words, *out], check=True, capture_output=True)
        found |= {f"{name}.{kind}": (folder / f"{name}.{kind}").read_text() for kind in ("pem", "key")}
    words = ["openssl", "ec", "-aes256", "-passout", "pass:x", "-in", folder / "a.key"]
    found["locked"] = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return found


def put(root: Path, cert: str | None, key: str | None) -> Path:
    for path, text in ((CERT, cert), (KEY, key)):
        if text is not None:
            place = root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    return root


def test_one_that_is_right_tells_how_long_it_is_good_and_when_it_changed(tmp_path: Path, made: dict[str, str]) -> None:
    now = datetime.now(UTC).timestamp()
    found = look(CERT, KEY, put(tmp_path, made["a.pem"], made["a.key"]), now)
    assert found["problem"] == ""
    assert found["left"] == pytest.approx(30 * DAY, abs=60)
    os.utime(tmp_path / KEY.lstrip("/"), (now + 50, now + 50))
    assert look(CERT, KEY, tmp_path, now)["changed"] == pytest.approx(now + 50)


def test_a_link_that_was_turned_is_a_change(tmp_path: Path, made: dict[str, str]) -> None:
    """That is how certificates are renewed: the files themselves are older than the link."""
    put(tmp_path, made["a.pem"], made["a.key"])
    place = tmp_path / CERT.lstrip("/")
    place.rename(place.with_name("1.pem"))
    for path in place.parent.iterdir():
        os.utime(path, (1000, 1000))
    place.symlink_to("1.pem")
    os.utime(place, (2000, 2000), follow_symlinks=False)
    assert look(CERT, KEY, tmp_path)["changed"] == 2000


def test_the_first_of_a_chain_counts_and_dates_beyond_2049_have_another_form(made: dict[str, str]) -> None:
    now = datetime.now(UTC).timestamp()
    assert certificate.ends(made["b.pem"] + made["a.pem"]) == pytest.approx(now + 365 * 40 * DAY, abs=60)
    assert certificate.ends("chain\n" + made["a.pem"]) == pytest.approx(now + 30 * DAY, abs=60)


@pytest.mark.parametrize(
    ("cert", "key", "told"),
    [
        (None, "a.key", f"there is no {CERT}"),
        ("a.pem", None, f"there is no {KEY}"),
        ("a.pem", "b.key", f"{KEY} is not the key of {CERT}"),
        ("a.key", "a.key", f"{CERT}: it holds no certificate"),
        ("a.pem", "locked", f"{KEY} asks for a password, which nobody could give at a start; store it without one"),
    ],
)
def test_what_is_wrong_is_told_in_words(
    tmp_path: Path, made: dict[str, str], cert: str | None, key: str | None, told: str
) -> None:
    assert look(CERT, KEY, put(tmp_path, cert and made[cert], key and made[key]))["problem"] == told


@pytest.mark.parametrize("text", ["AAAA", "", "x" * 400])
def test_what_only_looks_like_one_is_named(tmp_path: Path, made: dict[str, str], text: str) -> None:
    broken = f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n"
    told = look(CERT, KEY, put(tmp_path, broken, made["a.key"]))["problem"]
    assert told == f"{CERT}: it holds something that is no certificate"
