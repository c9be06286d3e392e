"""What floor needs on a box, read with the box's Python and machine, not with this one's."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from floor.apply.closure import REFERENCE, Installed, Platform, closure

SPARK = Platform("aarch64", (3, 12), (2, 39))
DEBIAN = Platform("x86_64", (3, 11), (2, 36))

WORLD: dict[str, tuple[str, list[str]]] = {
    "factory-floor": (
        "0.1.0",
        ["A_b>=1", "ruamel.yaml>=0.18", 'colorama; sys_platform == "win32"', 'dev-tool; extra == "dev"'],
    ),
    "a-b": ("1.5", ["c[fast]>=2", 'backport; python_version < "3.12"']),
    "c": ("2.2", ['d>=1; extra == "fast"', 'e; extra == "slow"', "a-b"]),
    "d": ("3.0+local", []),
    "ruamel-yaml": (
        "0.18.6",
        ['ruamel.yaml.clib>=0.2.7; platform_python_implementation == "CPython" and python_version < "3.13"'],
    ),
}


def world(name: str) -> tuple[str, Iterable[str]] | None:
    return WORLD.get(name)


LOOK: Installed = world


def test_all_that_is_needed_is_pinned_to_what_runs_here_and_extras_count_where_asked_for() -> None:
    assert closure(SPARK, LOOK) == [
        "a-b==1.5",
        "c==2.2",
        "d==3.0+local",
        "ruamel-yaml-clib>=0.2.7",
        "ruamel-yaml==0.18.6",
    ]


def test_markers_are_read_for_the_box() -> None:
    """pip reads them for the Python that it runs under, whatever --python-version says: `backport` would be missing."""
    assert set(closure(DEBIAN, LOOK)) - set(closure(SPARK, LOOK)) == {"backport"}
    assert "ruamel-yaml-clib>=0.2.7" not in closure(Platform("x86_64", (3, 13), (2, 41)), LOOK)


def test_development_tools_and_other_systems_are_left_out() -> None:
    assert not {"dev-tool", "colorama", "e", "factory-floor"} & {text.split("=")[0] for text in closure(SPARK, LOOK)}


def test_floor_itself_needs_what_it_imports_and_pip() -> None:
    names = {text.split("==")[0] for text in closure(DEBIAN)}
    assert {
        "httpx",
        "psutil",
        "pydantic",
        "pydantic-core",
        "jinja2",
        "pip",
        "typer",
        "uvicorn",
        "nvidia-ml-py",
    } <= names
    assert not {"pytest", "mypy", "ruff", "hatchling"} & names
    assert all("==" in text for text in closure(DEBIAN))


@pytest.mark.parametrize(
    ("platform", "first", "last", "inside"),
    [
        (SPARK, "manylinux_2_39_aarch64", "linux_aarch64", "manylinux2014_aarch64"),
        (DEBIAN, "manylinux_2_36_x86_64", "linux_x86_64", "manylinux1_x86_64"),
    ],
)
def test_tags_go_from_the_newest_libc_to_the_oldest(platform: Platform, first: str, last: str, inside: str) -> None:
    assert (platform.tags[0], platform.tags[-1]) == (first, last)
    assert inside in platform.tags
    assert not any("2_40" in tag for tag in platform.tags)


def test_arm_boxes_have_no_wheels_older_than_manylinux2014() -> None:
    assert not any(tag.startswith(("manylinux1_", "manylinux2010", "manylinux_2_12")) for tag in SPARK.tags)


def test_a_platform_says_itself_in_words() -> None:
    assert str(SPARK) == "aarch64, Python 3.12, glibc 2.39"


def test_what_a_release_is_named_after_is_one_platform_for_all() -> None:
    assert Platform("x86_64", (3, 12), (2, 36)) == REFERENCE
