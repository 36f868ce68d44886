# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.cute.core`: layouts, tensors and pointers under the name of an older module."""

from __future__ import annotations

from opencute.base.lazy import lazy_names
from opencute.cute import TABLE  # pyright: ignore[reportAttributeAccessIssue]

# Its modules are not among them: they have one place.
__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        **{name: where for name, where in TABLE.items() if not where.endswith(":")},
        "_pack_shape": "opencute.lang.algebra:packed",
        "_pack_tile": "opencute.lang.algebra:packed",
    },
)
