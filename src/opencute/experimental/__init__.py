# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.experimental`: names that may still change."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

_TABLE = {
    "cuda": "opencute.experimental.cuda:",
    "primitives": "opencute.experimental.primitives:",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _TABLE)
