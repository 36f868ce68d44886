# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.pipeline`: threads that wait for each other."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "NamedBarrier": "opencute.lib.named_barrier",
        "arrive": "opencute.lib.named_barrier",
        "arrive_and_wait": "opencute.lib.named_barrier",
        "sync": "opencute.lib.named_barrier",
    },
)
