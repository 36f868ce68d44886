# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Bulk copies as users name them: operations that `make_tiled_tma_atom` and `make_copy_atom` take.

>>> str(CopyBulkTensorTileG2SOp())
'cp.async.bulk.tensor, global to shared memory'
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.dialects.hopper.tma import REDUCTIONS
from opencute.lang.vectors import ReductionOp

__all__ = [
    "CopyBulkTensorIm2ColG2SMulticastOp",
    "CopyBulkTensorIm2ColG2SOp",
    "CopyBulkTensorIm2ColS2GOp",
    "CopyBulkTensorTileG2SMulticastOp",
    "CopyBulkTensorTileG2SOp",
    "CopyBulkTensorTileS2GOp",
    "CopyReduceBulkTensorIm2ColS2GOp",
    "CopyReduceBulkTensorTileS2GOp",
    "CtaGroup",
    "TmaOp",
]


class CtaGroup(enum.Enum):
    """How many blocks an instruction of Blackwell is for."""

    ONE = 1
    TWO = 2


class TmaOp:
    """What all copies of tiles have in common."""

    name = ""
    loads = False
    multicast = False
    im2col = False

    @property
    def reduction(self) -> str:
        """The word of a reduction, empty for a copy."""
        return ""


@dataclass(frozen=True)
class _Load(TmaOp):
    cta_group: Any = CtaGroup.ONE

    loads = True

    def __post_init__(self) -> None:
        if getattr(self.cta_group, "name", "") not in ("ONE", "TWO"):
            raise TypeMismatchError(
                "no such group of blocks", code="OC1601", found=self.cta_group,
                expected="CtaGroup.ONE or CtaGroup.TWO",
            )  # fmt: skip


class CopyBulkTensorTileG2SOp(_Load):
    """A tile from global to shared memory.

    Args:
        cta_group: on Blackwell, how many blocks load together.
    """

    name = "tma_load"

    def __str__(self) -> str:
        return "cp.async.bulk.tensor, global to shared memory"


class CopyBulkTensorTileG2SMulticastOp(_Load):
    """A tile from global memory to the shared memory of several blocks of a cluster: each block
    loads a part of the tile, for all of them.

    Args:
        cta_group: on Blackwell, how many blocks load together.
    """

    name = "tma_load_multicast"
    multicast = True

    def __str__(self) -> str:
        return "cp.async.bulk.tensor, global to shared memory of several blocks"


@dataclass(frozen=True)
class CopyBulkTensorTileS2GOp(TmaOp):
    """A tile from shared to global memory."""

    name = "tma_store"

    def __str__(self) -> str:
        return "cp.async.bulk.tensor, shared to global memory"


@dataclass(frozen=True)
class _Reduction(TmaOp):
    reduction_kind: Any = ReductionOp.ADD

    name = "tma_reduce"

    def __post_init__(self) -> None:
        if self.reduction not in REDUCTIONS:
            raise TypeMismatchError(
                "no such reduction in memory", code="OC1601", found=self.reduction_kind,
                expected=", ".join(f"ReductionOp.{w.upper()}" for w in REDUCTIONS),
            )  # fmt: skip

    @property
    def reduction(self) -> str:
        return str(getattr(self.reduction_kind, "name", self.reduction_kind)).lower()


class CopyReduceBulkTensorTileS2GOp(_Reduction):
    """Combine global memory with a tile of shared memory.

    Args:
        reduction_kind: ReductionOp.ADD, MIN, MAX, INC, DEC, AND, OR or XOR.
    """

    def __str__(self) -> str:
        return f"cp.reduce.async.bulk.tensor.{self.reduction}, shared to global memory"


# ---------------------------------------------------------------- columns of pixels
@dataclass(frozen=True)
class CopyBulkTensorIm2ColG2SOp(TmaOp):
    """A column of pixels from global to shared memory (PTX ISA, "cp.async.bulk.tensor", `.im2col`;
    SM90_TMA_LOAD_IM2COL in C++)."""

    name = "tma_load_im2col"
    loads = True
    im2col = True

    def __str__(self) -> str:
        return "cp.async.bulk.tensor.im2col, global to shared memory"


@dataclass(frozen=True)
class CopyBulkTensorIm2ColG2SMulticastOp(TmaOp):
    """A column of pixels from global memory to the same place in the shared memory of several
    blocks of a cluster (SM90_TMA_LOAD_IM2COL_MULTICAST in C++)."""

    name = "tma_load_im2col_multicast"
    loads = True
    multicast = True
    im2col = True

    def __str__(self) -> str:
        return "cp.async.bulk.tensor.im2col, global to shared memory of several blocks"


@dataclass(frozen=True)
class CopyBulkTensorIm2ColS2GOp(TmaOp):
    """A column of pixels from shared to global memory (PTX ISA, "cp.async.bulk.tensor",
    `.im2col_no_offs`; SM90_TMA_STORE_IM2COL in C++)."""

    name = "tma_store_im2col"
    im2col = True

    def __str__(self) -> str:
        return "cp.async.bulk.tensor.im2col_no_offs, shared to global memory"


class CopyReduceBulkTensorIm2ColS2GOp(_Reduction):
    """Combine pixels of global memory with a column of shared memory (PTX ISA,
    "cp.reduce.async.bulk.tensor", `.im2col_no_offs`).

    Args:
        reduction_kind: ReductionOp.ADD, MIN, MAX, INC, DEC, AND, OR or XOR.
    """

    name = "tma_reduce_im2col"
    im2col = True

    def __str__(self) -> str:
        return (
            f"cp.reduce.async.bulk.tensor.{self.reduction}.im2col_no_offs, shared to global memory"
        )
