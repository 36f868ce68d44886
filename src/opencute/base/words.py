# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Words of messages.

>>> singular("takes 1 arguments, 0 of 1 threads are there")
'takes 1 argument, 0 of 1 threads are there'
"""

from __future__ import annotations

import re

__all__ = ["singular"]

_NOUNS = (
    "accesses|arguments|arrivals|atomics|axes|barriers|batches|bits|blocks|bytes|columns|"
    "configurations|conversions|coordinates|copies|dimensions|elements|entries|errors|extents|"
    "files|groups|heads|inputs|instructions|keys|lanes|launches|lines|modes|operands|orders|pages|"
    "parameters|passes|places|problems|queries|registers|results|rows|stages|strides|tensors|"
    "threads|times|tokens|types|values|vectors|waits|warps"
)
_ONE = re.compile(rf"(?<![\w.,:/*+-])(?<!\bof )1 ({_NOUNS})\b")
_IRREGULAR = {"axes": "axis", "accesses": "access", "batches": "batch", "launches": "launch",
              "passes": "pass", "copies": "copy", "entries": "entry", "queries": "query",
              "times": "time"}  # fmt: skip


def singular(text: str) -> str:
    """A text in which one of something is not many: "1 rows" becomes "1 row"."""
    return _ONE.sub(lambda m: f"1 {_IRREGULAR.get(m[1]) or m[1][:-1]}", text)
