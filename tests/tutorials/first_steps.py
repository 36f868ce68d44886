# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of the first tutorials, and the lines that are changed in them."""

from __future__ import annotations

from pathlib import Path

from meta.project import ROOT

__all__ = ["FAULTS", "FOLDER", "PROFILES", "STEPS", "changed", "page"]

FOLDER = ROOT / "docs" / "tutorials"
STEPS = [(name, step) for name in ("first_kernel", "sgemm") for step in range(1, 6)]

# What is replaced, its first occurrence; afterwards `opencute check` says what stands on the page.
FAULTS = {
    ("first_kernel", 1): (
        "    if i < cute.size(x):  # the last block has more threads than there are elements\n"
        "        y[i]", "    y[i]",
    ),
    ("first_kernel", 3): (", pred=inside", ""),
    ("first_kernel", 4): (
        "    cute.arch.sync_threads()  # all of the tile is there before anybody reads it\n", ""
    ),
    ("first_kernel", 5): (
        "    cute.arch.sync_threads()  # all have read before the cells are used again\n", ""
    ),
    ("sgemm", 2): ("        cute.arch.sync_threads()  # all have read them\n", ""),
    ("sgemm", 5): ("wait_group(stages - 2)", "wait_group(stages - 1)"),
}  # fmt: skip
# Layouts whose conflicts the pages show.
PROFILES = {
    ("first_kernel", 4): ("PITCH = 33", "PITCH = 32"),
    ("sgemm", 4): ("cute.make_layout((bm, bk), stride=(bk + 8, 1))",
                   "cute.make_layout((bm, bk), stride=(bk, 1))"),
}  # fmt: skip


def page(name: str) -> str:
    """The text of a tutorial."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def changed(name: str, step: int, change: tuple[str, str] | None, folder: Path) -> Path:
    """A copy of a step with the first occurrence of a text replaced."""
    text = (FOLDER / name / f"step{step}.py").read_text(encoding="utf-8")
    if change is not None:
        assert change[0] in text, f"step {step} of {name} has no {change[0]!r}"
        text = text.replace(*change, 1)
    path = folder / f"step{step}.py"
    path.write_text(text, encoding="utf-8")
    return path
