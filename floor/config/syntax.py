"""What PyYAML could not read, in the words of someone who wants it mended."""

from __future__ import annotations

import yaml
from yaml.reader import ReaderError

from floor.config.problem import short

# start of PyYAML's own words -> what was found, what to write
_KNOWN = (
    ("too deep", "more than 32 levels, one inside the other", "fewer"),
    ("found character '\\t'", "a tab", "spaces for indentation"),
    (
        "mapping values are not allowed",
        "a `:` where no key can be",
        "the keys of one level in one column, texts with `: ` in quotes",
    ),
    ("could not find expected ':'", "a line without `:`", "`key: value`"),
    ("expected <block end>, but found '}'", "a `}` that closes nothing", "as many `{` as `}`"),
    ("expected <block end>, but found ']'", "a `]` that closes nothing", "as many `[` as `]`"),
    (
        "expected <block end>",
        "a line that is indented otherwise than those before it",
        "the keys of one level in one column",
    ),
    ("found undefined alias", "an alias of nothing", "an anchor (`&name`) before it, or the text in quotes"),
    ("second occurrence", "an anchor for the second time", "another name for it"),
    ("expected ',' or '}'", "a `{` that is not closed", "`,` between its keys and `}` behind them"),
    ("expected ',' or ']'", "a `[` that is not closed", "`,` between its values and `]` behind them"),
    ("found unexpected end of stream", "a quote that is not closed", "the closing quote"),
    ("but found another document", "a second document", "one document, without `---` inside"),
    ("expected the node content", "an end where a value belongs", "the value, and what closes it"),
    ("incompatible YAML document", "another version of YAML", "YAML without a %YAML line"),
    (
        "found unknown escape character",
        "an escape that YAML does not know",
        "single quotes around the text, or a double backslash",
    ),
    ("found character", "a character that cannot start a word", "quotes around the text"),
    ("expected alphabetic or numeric character", "a `&` or `*` without a name", "quotes around the text"),
)
# told where the thing begins that does not end
_BEGUN = ("could not find expected ':'", "expected ',' or", "found unexpected end of stream")
_OTHER = ("what is not YAML", "quotes, brackets and indentation so that they match")


def tell(error: Exception, text: str, name: str, line: int) -> str:
    """Given what reading `text` raised at about `line`, return the message, with its place in the file `name`."""
    if isinstance(error, ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return f"{name}:{line}: found the character U+{error.character:04X}; write the text without it"
    if not isinstance(error, yaml.MarkedYAMLError):
        return f"{name}:{line}: found a number or an escape beyond all limits; write a smaller one"
    words = str(error.problem or "")
    begun = any(start in words for start in _BEGUN)
    mark = (error.context_mark if begun else error.problem_mark) or error.problem_mark or error.context_mark
    found, write = next(((found, write) for start, found, write in _KNOWN if start in words), _OTHER)
    detail = f" ({short(words)})" if (found, write) == _OTHER and words else ""
    return f"{name}:{mark.line + 1 if mark else 1}: found {found}{detail}; write {write}"
