# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The pages of public names are as the code is, of a size to read, and their links are right."""

from __future__ import annotations

import re

import pytest

from meta.project import ROOT
from opencute.tools.reference.names import all_names, names, namespaces
from opencute.tools.reference.pages import COMMAND, FOLDER, PAGES, anchor, pages, write

pytestmark = pytest.mark.t1

FRESH = pages()


@pytest.mark.parametrize("file", sorted(FRESH))
def test_the_page_is_current(file: str) -> None:
    path = ROOT / FOLDER / file
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    assert kept == FRESH[file], f"{FOLDER / file} is not as the code is: run {COMMAND}"


def test_no_other_pages_are_kept() -> None:
    kept = {p.name for p in (ROOT / FOLDER).iterdir()}
    assert kept == set(FRESH), f"run {COMMAND}"


def test_pages_are_written_once_and_old_ones_removed(tmp_path) -> None:
    old = tmp_path / FOLDER / "old.md"
    old.parent.mkdir(parents=True)
    old.write_text("a page of a namespace that is gone")
    assert {p.name for p in write(tmp_path)} == {"old.md", *FRESH}
    assert not old.exists() and write(tmp_path) == []


def test_sizes() -> None:
    assert len(FRESH) <= 20
    assert not [f for f, text in FRESH.items() if text.count("\n") > 1500]


def test_every_name_has_one_entry_and_one_line() -> None:
    lines = re.findall(r"^- \[`([\w.]+)`\]", FRESH["index.md"], re.MULTILINE)
    heads = [h for f in FRESH for h in re.findall(r"^### (cutlass\.[\w.]+)$", FRESH[f], re.M)]
    assert lines and sorted(lines) == sorted(heads) == sorted(names())


def test_every_namespace_has_a_page_or_a_line() -> None:
    shown = {space for _, _, spaces in PAGES for space in spaces}
    repeated = re.findall(r"^- `([\w.]+)`: ", FRESH["index.md"], re.MULTILINE)
    assert shown | set(repeated) == set(namespaces())
    assert {n.namespace for n in names().values()} == shown


def test_every_public_spelling_is_found() -> None:
    """What `dir()` of the public modules shows is in the reference."""
    import cutlass
    from cutlass import cute, pipeline, utils

    for module in (cutlass, cute, cute.arch, cute.nvgpu.cpasync, pipeline, utils):
        spelt = module.__name__.replace("opencute", "cutlass")
        for name in module.__all__:
            full = f"{spelt}.{name}"
            assert full in all_names() or full in namespaces(), full


def test_links_lead_somewhere() -> None:
    anchors = {f: {anchor(h) for h in re.findall(r"^#+ (.*)$", t, re.M)} for f, t in FRESH.items()}
    count = 0
    for file, text in FRESH.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for target in re.findall(r"\]\(((?:[\w./]+\.md)?(?:#[\w-]+)?)\)", prose):
            page, _, place = target.partition("#")
            if page.startswith("../"):
                assert (ROOT / FOLDER / page).resolve().exists(), target
                continue
            assert (page or file) in FRESH, f"{file}: {target}"
            assert not place or place in anchors[page or file], f"{file}: {target}"
            count += 1
    assert count > 700


def test_headings_of_a_page_are_told_apart() -> None:
    for file, text in FRESH.items():
        heads = [anchor(h) for h in re.findall(r"^### (.*)$", text, re.MULTILINE)]
        assert len(heads) == len(set(heads)), file


def test_the_reference_is_linked() -> None:
    for page in ("README.md", "docs/design/architecture.md"):
        assert "docs/reference/api/index.md" in (ROOT / page).read_text(encoding="utf-8"), page
