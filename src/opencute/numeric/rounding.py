# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The names of rounding modes, and what a conversion does that names none.

Goes in: a destination type, perhaps a mode. Comes out: the mode, and whether to clamp::

    >>> default_rounding(TF32), default_saturate(TF32)
    ('rna', False)
"""

from __future__ import annotations

from typing import Literal, cast, get_args

from opencute.base.errors import ArgumentError
from opencute.numeric.dtypes import TF32, DType

__all__ = ["Rounding", "check_rounding", "default_rounding", "default_saturate"]

Rounding = Literal["rne", "rna", "rtz", "rd", "ru"]
"""Nearest with ties to even, nearest with ties away from zero, toward zero, down, up."""


def default_rounding(dst: DType) -> Rounding:
    """The rounding of a conversion that names none: rtz to integers, rna to tf32, else rne."""
    if not dst.is_float:
        return "rtz"
    return "rna" if dst is TF32 else "rne"


def default_saturate(dst: DType) -> bool:
    """Whether a conversion that does not say clamps: to floats of 8 bits and less, as PTX must."""
    return dst.is_float and dst.width <= 8


def check_rounding(mode: str | None, dst: DType) -> Rounding:
    """The mode, or the default one for None.

    Raises:
        ArgumentError: OC2020, if no mode has that name.
    """
    if mode is None:
        return default_rounding(dst)
    known = cast("tuple[str, ...]", get_args(Rounding))
    if mode not in known:
        raise ArgumentError(
            f"no rounding is called {mode!r}", code="OC2020", expected=", ".join(known)
        )
    return cast(Rounding, mode)
