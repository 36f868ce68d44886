# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the simulator computes in the place of device functions that it cannot read.

In: a function's name and something that maps NumPy arrays to one. Out: the same by name; the
language writes it, the simulator reads it::

    STAND_INS["scale_add"] = lambda a, b: 2 * a + b
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["STAND_INS"]

STAND_INS: dict[str, Callable[..., Any]] = {}
