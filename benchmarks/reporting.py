# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of this folder leave behind: their numbers, and whether all was right.

A row is a dictionary for each line that was printed; "ok" says whether results were right.
"""

import json

import torch

__all__ = ["keep", "over_sizes", "verdict"]


def keep(rows, path):
    """Write all rows to a file, if there is to be one."""
    if path:
        path.write_text(json.dumps(rows, indent=1))


def over_sizes(options, measure):
    """Rows of attention: of all sizes and types that `options` name, in full and causal.

    Args:
        options: with `sizes`, `dtypes` and `json`.
        measure: gives the row of a size, a type and whether it is causal.
    """
    rows = []
    for text in options.sizes.split(","):
        for name in options.dtypes.split(","):
            for causal in (False, True):
                size = tuple(map(int, text.split("x")))
                rows.append(measure(size, getattr(torch, name), causal))
    keep(rows, options.json)
    return rows


def verdict(rows):
    """What the process ends with; what was wrong is named."""
    wrong = [row for row in rows if not row.get("ok", True)]
    names = [row.get("name") or " ".join(map(str, list(row.values())[:3])) for row in wrong]
    print("wrong:", names or "none")
    return 1 if wrong else 0
