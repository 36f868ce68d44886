# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The known names that a misspelt one is close to.

In: a name and what there is. Out: a question, empty where nothing is close::

    did_you_mean("blcok", ["grid", "block", "smem"])     # "did you mean block?"
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(name: str, known: Iterable[str], most: int = 3) -> str:
    """A question that names the closest of `known`, at most so many; names that begin with an
    underscore are only offered to one that does so too."""
    names = [k for k in known if name.startswith("_") or not k.startswith("_")]
    close = difflib.get_close_matches(name, names, n=most)
    if not close:  # a name in capitals, or without its underscores
        plain = {k.replace("_", "").lower(): k for k in names}
        found = difflib.get_close_matches(name.replace("_", "").lower(), plain, n=1)
        close = [plain[f] for f in found]
    return f"did you mean {' or '.join(close)}?" if close else ""
