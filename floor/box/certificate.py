"""The certificate that a proxy's ports speak https with: whether it is there, fits its key, and when it ends."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from floor.box import paths

_FORMS = {0x17: "%y%m%d%H%M%SZ", 0x18: "%Y%m%d%H%M%SZ"}  # UTCTime and GeneralizedTime (RFC 5280, 4.1.2.5)


def look(certificate: str, key: str, root: Path = paths.ROOT, now: float | None = None) -> dict[str, Any]:
    """Given both paths and the time, return {"problem", "left", "changed"}: what is wrong with them (empty for
    nothing), seconds until the certificate ends, and when one of the two files changed last (unix seconds); None where
    nobody can tell."""
    places = {path: paths.under(root, path) for path in (certificate, key)}
    found: dict[str, Any] = {"problem": "", "left": None, "changed": None}
    for path, place in places.items():
        if not place.is_file():
            return {**found, "problem": f"there is no {path}"}
    # A link that is turned to another file is a change, too: that is how certificates are renewed.
    changes = [at for place in places.values() for at in (place.stat().st_mtime, place.lstat().st_mtime)]
    found["changed"] = max(changes)
    try:
        until = ends(places[certificate].read_text(errors="replace"))
        found["left"] = until - (time.time() if now is None else now)
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(places[certificate], places[key], _no_password)
    except _PasswordError:
        found["problem"] = f"{key} asks for a password, which nobody could give at a start; store it without one"
    except (ssl.SSLError, ValueError) as error:
        found["problem"] = _said(error, certificate, key)
    except OSError as error:
        found["problem"] = f"{certificate} or {key} cannot be read: {error.strerror}"
    return found


def ends(text: str) -> float:
    """Given a file of certificates (PEM), return when the first one ends, in unix seconds. Raise ValueError where it
    holds none.

    Certificate ::= {tbs {[0] version?, serial, algorithm, issuer, validity {notBefore, notAfter}, …}, …} (RFC 5280).
    """
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    if begin not in text or end not in text:
        raise ValueError("it holds no certificate")
    first = begin + text.split(begin, 1)[1].split(end, 1)[0] + end
    try:
        tbs = next(_parts(next(_parts(ssl.PEM_cert_to_DER_cert(first)))[1]))[1]
        fields = [part for part in _parts(tbs) if part[0] != 0xA0]
        kind, value = list(_parts(fields[3][1]))[1]
        return datetime.strptime(value.decode("ascii"), _FORMS[kind]).replace(tzinfo=UTC).timestamp()
    except (IndexError, KeyError, StopIteration, UnicodeDecodeError, ValueError):
        raise ValueError("it holds something that is no certificate") from None


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The values that stand one after the other in DER: the tag and the content of each (X.690, 8.1)."""
    at = 0
    while at + 2 <= len(data):
        tag, length, at = data[at], data[at + 1], at + 2
        if length & 0x80:
            count = length & 0x7F
            length, at = int.from_bytes(data[at : at + count], "big"), at + count
        yield tag, data[at : at + length]
        at += length


class _PasswordError(Exception):
    """The key is encrypted."""


def _no_password() -> str:
    raise _PasswordError


def _said(error: Exception, certificate: str, key: str) -> str:
    if isinstance(error, ssl.SSLError):
        if error.reason == "KEY_VALUES_MISMATCH":
            return f"{key} is not the key of {certificate}"
        return f"{certificate} and {key} cannot be used ({error.reason or error})"
    return f"{certificate}: {error}"
