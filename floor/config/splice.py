"""Where in a YAML text a value goes: pieces of text put between others, which stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from floor.config.emit import flow
from floor.config.problem import KeyPath

_COMMENTS = re.compile(r"(\r?\n[ \t]*(#[^\n]*)?(?=\r?\n|$))*")


def splice(text: str, root: Node, path: KeyPath, value: Any) -> Iterator[str]:
    """Given a text, its root node, a path and the value for it, yield texts that may hold it, the best one first."""
    key_node, node, depth = None, root, 0
    while depth < len(path) and (inner := _child(node, path[depth])) is not None:
        (key_node, node), depth = inner, depth + 1
    if depth == len(path):
        yield _replace(text, node, flow(value, like=_quote(node)), key_node)
        return
    for key in reversed(path[depth + 1 :]):
        value = {key: value} if isinstance(key, str) else [value]
    yield from _beside_comment(text, node, path[depth], value)
    yield _insert(text, node, path[depth], value)


def _child(node: Node, key: str | int) -> tuple[Node | None, Node] | None:
    """Given a node and a key or an index, return what stands there, with the key's node before it where it has one."""
    if isinstance(node, SequenceNode) and isinstance(key, int):
        return next(((None, item) for item in node.value[key : key + 1]), None)
    if isinstance(node, MappingNode):
        return next(
            ((name, item) for name, item in node.value if isinstance(name, ScalarNode) and name.value == key), None
        )
    return None


def _quote(node: Node) -> str | None:
    return node.style if isinstance(node, ScalarNode) and node.style in ("'", '"') else None


def _replace(text: str, node: Node, new: str, key: Node | None = None) -> str:
    start, end = node.start_mark.index, _end(text, node)
    if isinstance(node, ScalarNode) and start == end and text[start - 1 : start] not in ("", " "):
        new = f" {new}"  # an empty value stands right behind its colon
    if isinstance(node, CollectionNode) and not node.flow_style and key is not None:
        # a block begins below its key: the value moves up to it, before the comment that may be there
        colon = text.index(":", key.end_mark.index)
        first = text[colon + 1 : start].partition("\n")[0].rstrip()
        return f"{text[: colon + 1]} {new}{first}{text[end:]}"
    return text[:start] + new + text[end:]


def _insert(text: str, parent: Node, key: str | int, value: Any) -> str:
    if not isinstance(parent, CollectionNode):
        old = text[parent.start_mark.index : parent.end_mark.index].strip()
        box = f"box: {old}, " if old not in ("", "null", "~") else ""
        return _replace(text, parent, f"{{{box}{flow({key: value})[1:-1]}}}")
    entry = flow({key: value})[1:-1] if isinstance(key, str) else flow(value)
    last = _last(parent)
    if last is None:
        start, end = parent.start_mark.index, parent.end_mark.index
        return text[: start + 1] + entry + text[end - 1 :]
    at = _end(text, last)
    if parent.flow_style:
        return f"{text[:at]}, {entry}{text[at:]}"
    column = parent.start_mark.column
    dash = "- " if isinstance(parent, SequenceNode) else ""
    at = _behind_comments(text, _line_end(text, at), column)
    return f"{text[:at]}{_newline(text)}{' ' * column}{dash}{entry}{text[at:]}"


def _beside_comment(text: str, parent: Node, key: str | int, value: Any) -> Iterator[str]:
    """Where the key stands as a comment (`#stall: 5m`, a default), its line goes below that one."""
    if isinstance(parent, SequenceNode) or (isinstance(parent, MappingNode) and parent.flow_style):
        return
    start, end = parent.start_mark.index, _line_end(text, _end(text, parent))
    comments = _COMMENTS.match(text, end)
    end = comments.end() if comments else end
    for found in re.finditer(rf"(?m)^( *)# ?{re.escape(str(key))}:[^\r\n]*", text[:end]):
        if found.start() >= start and (isinstance(parent, ScalarNode) or len(found[1]) == parent.start_mark.column):
            entry = flow({key: value})[1:-1]
            yield f"{text[: found.end()]}{_newline(text)}{found[1]}{entry}{text[found.end() :]}"


def _behind_comments(text: str, at: int, column: int) -> int:
    """Given the end of a line, return that of the comments below it which belong to it: those that stand deeper."""
    while found := re.compile(rf"\r?\n {{{column + 1},}}#[^\r\n]*").match(text, at):
        at = found.end()
    return at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end - (text[end - 1] == "\r")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _last(node: Node) -> Node | None:
    if not isinstance(node, CollectionNode) or not node.value:
        return None
    last: Node = node.value[-1][1] if isinstance(node, MappingNode) else node.value[-1]
    return last


def _end(text: str, node: Node) -> int:
    """Given a node, return the index behind its last character: a block's own mark lies behind what follows it."""
    last = _last(node)
    if isinstance(node, CollectionNode) and not node.flow_style and last is not None:
        return _end(text, last)
    start, end = node.start_mark.index, node.end_mark.index
    return int(start) + len(text[start:end].rstrip())
