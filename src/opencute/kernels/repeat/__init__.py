# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of operators that were made before, made again without their Python.

- `described`: what a call depends on, as a key.
- `recorder`: what a call does on the GPU: memory that it gets, launches, torch's operations.
- `tape`: that again, for other arrays of the same description.
- `operators`: the decorator of operators.
"""

from __future__ import annotations

__all__: list[str] = []
