"""Every command that a document names is one that there is, with options that it has."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer.main

from floor.cli.app import app
from tests.unit.docs.documents import DOCUMENTS, ROOT, Command, commands

GROUP: Any = typer.main.get_command(app)
FREE = {"sim", "tooltest"}  # command lines of their own

NAMED = [command for document in DOCUMENTS for command in commands(document, "floor")]
MADE = [command for document in DOCUMENTS for command in commands(document, "make")]


def options(name: str) -> set[str]:
    """The options of a command; of floor itself where the name is one."""
    command = GROUP if name.startswith("-") else GROUP.commands[name]
    return {word for param in command.params for word in (*param.opts, *param.secondary_opts)} | {"--help"}


@pytest.mark.parametrize("command", NAMED, ids=lambda command: command.where)
def test_a_command_that_is_named_is_there(command: Command) -> None:
    name = command.words[0]
    if name.startswith("-"):
        assert name in options(name)
        return
    assert name in GROUP.commands, f"{command.where}: there is no such command"
    unknown = set() if name in FREE else set(command.options) - options(name)
    assert not unknown, f"{command.where}: {name} has no {', '.join(sorted(unknown))}"


@pytest.mark.parametrize("name", sorted(GROUP.commands))
def test_the_readme_says_what_each_command_does(name: str) -> None:
    readme = (ROOT / "README.md").read_text()
    assert re.search(rf"`floor {name}\b", readme), f"README.md does not name `floor {name}`"


@pytest.mark.parametrize("command", MADE, ids=lambda command: command.where)
def test_a_target_that_is_named_is_in_the_makefile(command: Command) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(command.words) <= targets, command.where
