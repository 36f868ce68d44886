# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""JSON that any parser takes: no NaN, no Infinity.

In: dicts, lists and scalars. Out: one line of text, where a number that JSON cannot say is `null`
and a neighbour `<key>_text` says it::

    dumps({"max_abs_diff": math.inf})
    # {"max_abs_diff": null, "max_abs_diff_text": "Infinity"}
"""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["dumps", "plain"]


def _text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def plain(value: Any) -> Any:
    """`value` as dicts, lists, strings, bools, None and finite numbers."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        out: dict[str, Any] = {}
        for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            out[str(key)] = plain(item)  # pyright: ignore[reportUnknownArgumentType]
            if isinstance(item, float) and not math.isfinite(item):
                out[f"{key}_text"] = _text(item)
        return out
    if isinstance(value, (list, tuple)):
        return [
            _text(v) if isinstance(v, float) and not math.isfinite(v) else plain(v)
            for v in value  # pyright: ignore[reportUnknownVariableType]
        ]
    return str(value)


def dumps(value: Any) -> str:
    """One line of strict JSON."""
    return json.dumps(plain(value), allow_nan=False)
