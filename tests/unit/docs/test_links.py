"""Every relative link leads somewhere, and what stands in pictures can be read."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.unit.docs.documents import DOCUMENTS, ROOT, anchors, links

LINKS = [(document, link) for document in DOCUMENTS for link in links(document) if "://" not in link]
PICTURES = sorted((ROOT / "docs").glob("*.svg"))


@pytest.mark.parametrize(("document", "link"), LINKS, ids=lambda value: getattr(value, "name", value))
def test_a_relative_link_leads_somewhere(document: Path, link: str) -> None:
    path, _, anchor = link.partition("#")
    target = (document.parent / path).resolve() if path else document
    assert target.exists(), f"{document.name}: {link} leads nowhere"
    assert target.is_relative_to(ROOT)
    if anchor:
        assert anchor in anchors(target), f"{document.name}: {target.name} has no heading for #{anchor}"


def test_every_document_can_be_reached_from_the_readme() -> None:
    waiting, seen = [ROOT / "README.md"], set()
    while waiting:
        document = waiting.pop()
        if document not in seen and document.suffix == ".md":
            seen.add(document)
            waiting += [(document.parent / link.split("#")[0]).resolve() for link in links(document) if ":" not in link]
    assert set(DOCUMENTS) <= seen


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_drawn_for_light_and_dark(picture: Path) -> None:
    root = ET.fromstring(picture.read_text())  # noqa: S314 -- our own file
    space = "{http://www.w3.org/2000/svg}"
    style = root.find(f"{space}style")
    assert root.find(f"{space}title") is not None
    assert root.find(f"{space}desc") is not None
    assert style is not None
    assert "prefers-color-scheme: dark" in (style.text or "")
    light, dark = (style.text or "").split("@media", 1)
    used = {name for element in root.iter() for name in (element.get("class") or "").split()}
    assert used
    for name in used:
        assert f".{name} " in light, f"{name} has no colour"
        assert f".{name} " in dark, f"{name} has no colour in the dark"
