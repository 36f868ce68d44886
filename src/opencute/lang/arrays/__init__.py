# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Plain arrays and pointers, as kernels have them that call single instructions.

Importing this package lets pointers be indexed: `Pointer.raw_ptr` gives what `raw` defines.
"""

from __future__ import annotations

from opencute.lang.arrays import raw

__all__ = ["raw"]
