# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of one row (`gemv`) and of few rows that begin anywhere (`few`).

What is read counts in these, not what is multiplied, and TMA reads no rows that begin
at odd places.
"""

from __future__ import annotations

__all__: list[str] = []
