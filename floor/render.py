"""Text for other programs: templates, and one quoting function for each program that reads it.

Templates hold text and `desired` holds decisions; a name that a template does not know is an error, not an empty text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FileSystemLoader, StrictUndefined

# Characters that neither systemd nor nginx gives a meaning inside a word.
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,+@-]+")
_CONTROL = re.compile(r"[\x01-\x1f\x7f]")
_LINE_ENDS = re.compile(r"[\n\r]")
# nginx reads its configuration through a buffer of 4096 bytes; a word that does not fit is "too long parameter".
NGINX_LONGEST = 4000


@cache
def environment() -> Environment:
    """Return the environment that all templates are rendered with. It quotes nothing by itself."""
    made = Environment(
        loader=FileSystemLoader(str(files("floor") / "templates")),
        undefined=StrictUndefined,
        auto_reload=False,  # templates change with a release only
        autoescape=False,  # noqa: S701 -- no HTML: units and nginx files, each quoted by its own function
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["nginx"] = nginx
    made.filters["systemd"] = systemd
    made.filters["systemd_env"] = systemd_env
    made.filters["systemd_exec"] = systemd_exec
    made.filters["systemd_text"] = systemd_text
    return made


def template(name: str, **values: object) -> str:
    """Given a template's path below templates/ and all that it names, return its text.

    Raises jinja2.UndefinedError for a name without a value and ValueError for a value that cannot be quoted.
    """
    return environment().get_template(name).render(**values)


def nginx(text: str) -> str:
    """Given any text, return the one word by which an nginx directive means it.

    nginx cannot escape `$`: it is written as `${floor_dollar}`, which http.conf defines, so this is for directives
    that expand variables. Raises ValueError for NUL, and for a text longer than nginx reads in one word.
    """
    _encodable(text, "nginx")
    if _PLAIN.fullmatch(text):
        return text
    mark = "'" if '"' in text and "'" not in text else '"'
    quoted = text.replace("\\", "\\\\").replace(mark, "\\" + mark).replace("$", "${floor_dollar}")
    if len(quoted.encode()) > NGINX_LONGEST:
        raise ValueError(f"nginx reads no word longer than {NGINX_LONGEST} bytes, found {len(quoted.encode())}")
    return f"{mark}{quoted}{mark}"


def systemd(word: str) -> str:
    """Given a word of a command line, return it as ExecStart= and its kind read it back: `%` and `$` are kept.

    Raises ValueError for NUL and for the end of a line, which would begin another setting for a careless reader.
    """
    return _systemd_word(word).replace("$", "$$")


def systemd_env(name: str, value: str) -> str:
    """Given a variable, return it as one word for Environment=, where `$` means nothing. Raises as `systemd` does."""
    return _systemd_word(f"{name}={value}")


def systemd_exec(argv: Sequence[str]) -> str:
    """Given a command line, return it for ExecStart=. Raises as `systemd` does, and for a first word that would not
    arrive as it is: systemd tidies the program's path and does not expand variables in it."""
    if not argv:
        raise ValueError("a unit needs a program: the command line is empty")
    program = argv[0]
    if not program.startswith("/") or re.search(r"//|/\.{1,2}(/|$)|/$|[$\\\"']", program):
        raise ValueError(f"a unit's program must be a plain absolute path, found {program!r}")
    return " ".join(systemd(word) for word in argv)


def systemd_text(text: str) -> str:
    """Given a text for a setting that is one line without quoting (Description=), return it. Raises as `systemd`."""
    _one_line(text)
    return text.replace("%", "%%")


def shell(argv: Iterable[str]) -> str:
    """Given a command line, return it for the shell at the far end of ssh, which joins its words with spaces."""
    return shlex.join(argv)


def _systemd_word(text: str) -> str:
    _one_line(text)
    if _PLAIN.fullmatch(text):
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", quoted) + '"'


def _one_line(text: str) -> None:
    _encodable(text, "systemd")
    if found := _LINE_ENDS.search(text):
        raise ValueError(f"a unit file has no place for the end of a line, found {found[0]!r} in {text[:60]!r}")


def _encodable(text: str, reader: str) -> None:
    if "\0" in text:
        raise ValueError(f"{reader} reads no NUL, found one in {text[:60]!r}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{reader} reads UTF-8 only, found {text[:60]!r}") from error
