# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.runtime`: arguments from outside of compiled code."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "find_runtime_libraries": "opencute.jit.export.loading",
        "from_dlpack": "opencute.lang.external",
        "load_module": "opencute.jit.export.loading",
        "make_fake_compact_tensor": "opencute.lang.arguments.fakes",
        "make_fake_stream": "opencute.lang.arguments.fakes",
        "make_fake_tensor": "opencute.lang.arguments.fakes",
        "make_ptr": "opencute.lang.external_pointers",
        "nullptr": "opencute.lang.external_pointers",
    },
)
