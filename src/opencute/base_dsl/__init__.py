# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.base_dsl`: names that kernels import from inside of the reference product."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "arch": "opencute.base_dsl.arch:",
        "dsl": "opencute.base_dsl.dsl:",
        "runtime": "opencute.base_dsl.runtime:",
        "typing": "opencute.base_dsl.typing:",
    },
)
