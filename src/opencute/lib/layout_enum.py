# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a matrix is stored by rows or by columns."""

from __future__ import annotations

import enum
from typing import Any

from opencute.base.errors import LayoutError
from opencute.lang.block.majors import OperandMajorMode
from opencute.layout.ints import is_tuple

__all__ = ["LayoutEnum"]


class LayoutEnum(enum.Enum):
    """Row or column major; of a matrix with shape (M, K), (N, K) or (M, N), batch modes after."""

    ROW_MAJOR = "row_major"
    COL_MAJOR = "col_major"

    @staticmethod
    def from_tensor(tensor: Any) -> LayoutEnum:
        """The order of a tensor's first two modes, by which of them is contiguous.

        Raises:
            LayoutError: neither is.
        """
        layout = getattr(tensor, "layout", tensor)
        layout = getattr(layout, "outer", layout)
        unit = [m for m in (0, 1) if _has_unit_stride(layout[m].stride)]
        if len(unit) == 2:  # a mode of extent 1 may have any stride
            unit = [m for m in unit if _extent(layout[m]) != 1] or [1]
        if not unit:
            raise LayoutError(
                "the matrix is neither row nor column major", code="OC1388", found=str(layout),
                expected="stride 1 in one of its first two modes",
            )  # fmt: skip
        return LayoutEnum.ROW_MAJOR if unit[0] == 1 else LayoutEnum.COL_MAJOR

    def mma_major_mode(self) -> OperandMajorMode:
        """The contiguous mode of an operand of a matrix instruction."""
        return OperandMajorMode.K if self is LayoutEnum.ROW_MAJOR else OperandMajorMode.MN

    def sm90_mma_major_mode(self) -> OperandMajorMode:
        """As `mma_major_mode`, for warpgroup instructions."""
        return self.mma_major_mode()

    def is_k_major_a(self) -> bool:
        """Whether A, (M, K), is contiguous in K."""
        return self is LayoutEnum.ROW_MAJOR

    def is_m_major_a(self) -> bool:
        """Whether A, (M, K), is contiguous in M."""
        return self is LayoutEnum.COL_MAJOR

    def is_k_major_b(self) -> bool:
        """Whether B, (N, K), is contiguous in K."""
        return self is LayoutEnum.ROW_MAJOR

    def is_n_major_b(self) -> bool:
        """Whether B, (N, K), is contiguous in N."""
        return self is LayoutEnum.COL_MAJOR

    def is_n_major_c(self) -> bool:
        """Whether C, (M, N), is contiguous in N."""
        return self is LayoutEnum.ROW_MAJOR

    def is_m_major_c(self) -> bool:
        """Whether C, (M, N), is contiguous in M."""
        return self is LayoutEnum.COL_MAJOR


def _has_unit_stride(stride: Any) -> bool:
    if is_tuple(stride):
        return any(_has_unit_stride(s) for s in stride)
    return isinstance(stride, int) and stride == 1


def _extent(layout: Any) -> Any:
    n = layout.size()
    return n if isinstance(n, int) else None
