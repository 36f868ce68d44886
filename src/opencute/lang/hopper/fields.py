# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of an MMA that an instruction reads when it is executed.

A setting may change in a branch or loop of the kernel; it is then joined like any other attribute
of a Python object.
"""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["Field", "Settings"]


class Field(enum.Enum):
    """A setting of a warpgroup's MMA.

    ACCUMULATE: whether the product is added to the accumulator, or takes its place.
    """

    ACCUMULATE = "accum_c"


class Settings:
    """The settings of one MMA, which its slices share."""

    def __init__(self) -> None:
        self.accumulate: Any = True
