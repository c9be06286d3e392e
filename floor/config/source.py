"""YAML text as plain values with their places: a reader that takes only what every YAML reader takes the same way.

Collected, and told all at once: words that mean different things to different readers, keys written twice, keys that
are no text, tags, empty values. Raised at once: text that is no YAML, and text that is too much of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_origin

import yaml
from yaml.composer import Composer
from yaml.events import Event
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from floor.config import scalars, shape, syntax
from floor.config.problem import KeyPath, Problem, Source, short
from floor.errors import ConfigError

DEEPEST = 32  # levels; the deepest option, a nested engine argument, needs about ten
MOST = 10_000  # values, once aliases are expanded: a real file has hundreds


class _Loader(Reader, Scanner, Parser, Composer, BaseResolver):
    """PyYAML up to its nodes: nothing is constructed, no word is resolved."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseResolver.__init__(self)
        self.depth = 0
        self.tags: dict[int, str] = {}

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event: Event = self.peek_event()  # type: ignore[no-untyped-call]
        tag = getattr(event, "tag", None)
        self.depth += 1
        if self.depth > DEEPEST:
            raise yaml.MarkedYAMLError(problem="too deep", problem_mark=event.start_mark)  # type: ignore[arg-type]
        node: Node | None = super().compose_node(parent, index)
        self.depth -= 1
        if node is not None and tag is not None:
            self.tags[id(node)] = tag
        return node


def read(text: str, name: str) -> tuple[Source, list[Problem]]:
    """Given YAML text and its file's name, return its values with their places, and what is wrong with it as YAML.

    Raise ConfigError where there is nothing to go on with: no YAML at all, or too much.
    """
    root, tags = _root(text, name)
    walk = _Walk(name, tags)
    data = walk.value(root, (), ())
    return Source(name, data, walk.lines, walk.words), walk.problems


def compose(text: str, name: str) -> Node:
    """Given YAML text and its file's name, return its root node, a mapping. Raise ConfigError as `read` does."""
    return _root(text, name)[0]


def _root(text: str, name: str) -> tuple[Node, dict[int, str]]:
    loader = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # PyYAML's chr() and int() raise the last two
        raise ConfigError([syntax.tell(error, text, name, loader.line + 1 if loader else 1)]) from error
    if root is None:
        raise ConfigError(
            [f"{name}: found an empty file; write boxes, models and proxy (`floor init` writes a first one)"]
        )
    if not isinstance(root, MappingNode):
        line = root.start_mark.line + 1
        raise ConfigError(
            [f"{name}:{line}: found {_words(root)}; write boxes, models and proxy, each with a `:` behind it"]
        )
    return root, loader.tags


class _Walk:
    """Turns nodes into values, and keeps where each of them stands."""

    def __init__(self, name: str, tags: dict[int, str]) -> None:
        self.name = name
        self.tags = tags
        self.count = 0
        self.lines: dict[KeyPath, int] = {}
        self.words: dict[KeyPath, str] = {}
        self.problems: list[Problem] = []

    def value(self, node: Node, path: KeyPath, around: tuple[int, ...]) -> Any:
        """Given a node, its path and the ids of the nodes around it, return its value."""
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self.words[path] = _words(node)
        self.count += 1
        if id(node) in around or len(path) > DEEPEST:
            raise ConfigError([f"{self.name}:{line}: found an alias inside what it stands for; write the values out"])
        if self.count > MOST:
            raise ConfigError(
                [f"{self.name}:{line}: found more than {MOST} values (aliases count each time); write fewer"]
            )
        if id(node) in self.tags:
            tag = short(self.tags[id(node)].replace("tag:yaml.org,2002:", "!!"))
            self.problems.append(Problem(path, "the value without it", f"the tag {tag}"))
        around = (*around, id(node))
        if isinstance(node, MappingNode):
            return {key: self.value(item, (*path, key), around) for key, item in self._items(node, path)}
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, index), around) for index, item in enumerate(node.value)]
        return self._scalar(node, path) if isinstance(node, ScalarNode) else None

    def _items(self, node: MappingNode, path: KeyPath) -> Iterator[tuple[str, Node]]:
        seen: dict[str, int] = {}
        for key_node, item in node.value:
            line = key_node.start_mark.line + 1
            key = self._key(key_node, path, line)
            if key is None:
                continue
            if key in seen:
                found = "the key twice" if line == seen[key] else f"the key twice, first in line {seen[key]}"
                self.problems.append(Problem((*path, key), "it once", found, line=line))
                continue
            seen[key] = line
            self.lines[(*path, key)] = line
            yield key, item

    def _key(self, node: Node, path: KeyPath, line: int) -> str | None:
        found, write = _words(node), "a text as a key"
        if isinstance(node, ScalarNode):
            if node.style is not None:
                return str(self._clean(node.value, path))
            if node.value == "<<":
                write = "the keys out: merge keys are not read"
            else:
                try:
                    value = scalars.read(node.value)
                except scalars.SurpriseError:
                    value = None
                if isinstance(value, str) and value:
                    return value
                write = f'"{short(node.value)}" in quotes' if node.value else write
        self.problems.append(Problem(path, write, f"{found} as a key", line=line))
        return None

    def _scalar(self, node: ScalarNode, path: KeyPath) -> Any:
        if node.style is not None:
            return self._clean(node.value, path)
        if not node.value:
            here = shape.at(path)
            if shape.is_model(here) or get_origin(here) is dict:
                return {}  # a section whose options are all comments
            self.problems.append(Problem(path, shape.write(path), "no value"))
            return ""
        try:
            return self._clean(scalars.read(node.value), path)
        except scalars.SurpriseError as surprise:
            found = f"{short(node.value)}, which YAML readers take for different values"
            self.problems.append(Problem(path, str(surprise), found))
            return node.value

    def _clean(self, value: Any, path: KeyPath) -> Any:
        """Characters that no file name, argument or environment can carry come in by escapes such as "\\0"."""
        if isinstance(value, str) and any(
            (character < " " and character not in "\n\t") or "\ud800" <= character <= "\udfff" for character in value
        ):
            self.problems.append(Problem(path, "the text without it", "a control character or half a character"))
            return ""
        return value


def _words(node: Node) -> str:
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, SequenceNode):
        return "a list"
    if isinstance(node, ScalarNode) and node.style is not None:
        return f'the text "{short(node.value)}"'
    return short(node.value) if node.value else "nothing"
