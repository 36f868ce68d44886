# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix operations of a warpgroup, as users name them.

In: types, the shape of one instruction, where A is, and which mode of A and B is contiguous. Out:
an operation for `cute.make_mma_atom` or `cute.make_tiled_mma`::

    warpgroup.MmaF16BF16Op(Float16, Float32, (64, 128, 16), OperandSource.SMEM,
                           OperandMajorMode.K, OperandMajorMode.K)
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from opencute.arch.mma import ELEMENT_BITS
from opencute.arch.wgmma import TYPES, WgmmaAtom, wgmma_atom, wgmma_shapes
from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.lang.block.majors import OperandMajorMode
from opencute.lang.hopper.descriptors import descriptor_tensor
from opencute.lang.hopper.fields import Field, Settings
from opencute.lang.numbers import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Int8,
    Int32,
    NumericMeta,
    TFloat32,
    Uint8,
)
from opencute.lang.tensors import TracedTensor

__all__ = ["MmaF8Op", "MmaF16BF16Op", "MmaI8Op", "MmaTF32Op", "OperandSource", "WarpgroupOp"]

_NAMES = {
    Float16: "f16", BFloat16: "bf16", TFloat32: "tf32", Float32: "f32", Int32: "s32", Int8: "s8",
    Uint8: "u8", Float8E4M3FN: "e4m3", Float8E5M2: "e5m2",
}  # fmt: skip


class OperandSource(enum.Enum):
    """Where operand A is."""

    RMEM = "rmem"
    SMEM = "smem"


@dataclass(frozen=True)
class _Common:
    """What an operation is made of; see `WarpgroupOp`."""

    a_dtype: Any
    b_dtype: Any
    acc_dtype: Any
    shape_mnk: Any
    a_src: Any
    a_major_mode: Any
    b_major_mode: Any


class WarpgroupOp(_Common):
    """A matrix product of a warpgroup.

    Args:
        a_dtype: type of A.
        b_dtype: type of B.
        acc_dtype: type of the accumulator.
        instruction_shape: (64, N, K) of one instruction; K may be left out.
        a_src: whether A is in shared memory or in registers.
        a_major_mode: the contiguous mode of A in shared memory.
        b_major_mode: the contiguous mode of B.

    Raises:
        TypeMismatchError: there is no such instruction; says which there are.
    """

    allowed: tuple[Any, ...] = ()
    k_factor = 1  # of a sparse A, k is twice what there is of it

    def __init__(
        self, a_dtype: Any, b_dtype: Any, acc_dtype: Any, instruction_shape: Any,
        a_src: Any = OperandSource.SMEM, a_major_mode: Any = OperandMajorMode.K,
        b_major_mode: Any = OperandMajorMode.K, *, loc: Any = None, ip: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            a_dtype, b_dtype, acc_dtype, tuple(instruction_shape), a_src, a_major_mode,
            b_major_mode,
        )  # fmt: skip
        self._check_words()
        record = self.record
        if OperandMajorMode.MN in self._majors() and not record.mn_major:
            raise self._error("operands of this type are contiguous along K", "OperandMajorMode.K")
        if self.a_src is OperandSource.RMEM and self.a_major_mode is not OperandMajorMode.K:
            raise self._error("A in registers is contiguous along K", "OperandMajorMode.K")

    def _majors(self) -> tuple[Any, Any]:
        return self.a_major_mode, self.b_major_mode

    def _check_words(self) -> None:
        if not isinstance(self.a_src, OperandSource):
            raise self._error("a_src is no OperandSource", "OperandSource.SMEM or .RMEM")
        if not all(isinstance(m, OperandMajorMode) for m in self._majors()):
            raise self._error("a major mode is no OperandMajorMode", "OperandMajorMode.K or .MN")

    def _error(self, what: str, expected: object) -> TypeMismatchError:
        return TypeMismatchError(
            f"warpgroup.{type(self).__name__}: {what}", code="OC1272", expected=expected,
            found=f"A {self.a_dtype}, B {self.b_dtype}, accumulator {self.acc_dtype}, shape "
            f"{self.shape_mnk}, {self.a_src}, {self.a_major_mode}, {self.b_major_mode}",
        )  # fmt: skip

    @property
    def record(self) -> WgmmaAtom:
        """The instruction."""
        types = [_NAMES.get(t, "?") for t in (self.acc_dtype, self.a_dtype, self.b_dtype)]
        if not all(t in self.allowed for t in (self.a_dtype, self.b_dtype)):
            names = ", ".join(t.__name__ for t in self.allowed)
            raise self._error("it does not take these types", f"A and B of {names}")
        if tuple(types) not in TYPES:
            known = sorted({d for d, a, b in TYPES if [a, b] == types[1:]})
            raise self._error(
                "there is no such accumulator",
                f"one of {', '.join(known)}" if known else "A and B of one type",
            )
        k = 256 // ELEMENT_BITS[types[1]] * self.k_factor
        mnk = (*self.shape_mnk, k) if len(self.shape_mnk) == 2 else self.shape_mnk
        source = "rs" if self.a_src is OperandSource.RMEM else "ss"
        try:
            m, n, k = (int(x) for x in mnk)
            sp = ".sp" if self.k_factor > 1 else ""
            return wgmma_atom(f"wgmma{sp}.m{m}n{n}k{k}.{'.'.join(types)}.{source}")
        except (ArgumentError, TypeError, ValueError):
            shapes = ", ".join(map(str, wgmma_shapes(types[0])))
            raise self._error(
                "there is no instruction of this shape", f"(64, N, {k}), N one of {shapes}"
            ) from None

    @property
    def shape(self) -> tuple[int, int, int]:
        """(M, N, K) of one instruction."""
        return self.record.mnk

    def settings(self) -> Settings:
        """Fresh settings."""
        return Settings()

    def field(self, field: Any) -> str:
        """The name of a setting.

        Raises:
            TypeMismatchError: there is no such field.
        """
        if field is not Field.ACCUMULATE:
            raise TypeMismatchError(
                f"warpgroup.{type(self).__name__} has no field {field}", code="OC1273",
                expected="warpgroup.Field.ACCUMULATE", found=field,
            )  # fmt: skip
        return "accumulate"

    def fragment(self, which: str, source: Any) -> TracedTensor | None:
        """Descriptors of an operand in shared memory, None for one in registers."""
        if which == "A" and self.a_src is OperandSource.RMEM:
            return None
        m, n, k = self.record.mnk
        major = self.a_major_mode if which == "A" else self.b_major_mode
        shape = (m, self.record.a_k) if which == "A" else (n, k)
        return descriptor_tensor(source, shape, major is OperandMajorMode.MN, which)

    def takes(self, which: str, dtype: NumericMeta) -> bool:
        """Whether an operand may have elements of a type: tf32 is read as f32 is stored."""
        want = {"a": self.a_dtype, "b": self.b_dtype}.get(which, self.acc_dtype)
        return dtype is want or (want is TFloat32 and dtype is Float32)

    def __str__(self) -> str:
        return f"warpgroup.{type(self).__name__} {self.record.name}"


class MmaF16BF16Op(WarpgroupOp):
    """wgmma on Float16 (accumulator Float16 or Float32) or BFloat16 (Float32).

    Args:
        ab_dtype: type of A and B.
        acc_dtype: type of the accumulator.
        instruction_shape: (64, N, 16), N a multiple of 8 up to 256.
        a_src: whether A is in shared memory or in registers.
        a_major_mode: the contiguous mode of A.
        b_major_mode: the contiguous mode of B.
    """

    allowed = (Float16, BFloat16)

    def __init__(
        self, ab_dtype: Any, acc_dtype: Any, instruction_shape: Any,
        a_src: Any = OperandSource.SMEM, a_major_mode: Any = OperandMajorMode.K,
        b_major_mode: Any = OperandMajorMode.K, *, loc: Any = None, ip: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            ab_dtype, ab_dtype, acc_dtype, instruction_shape, a_src, a_major_mode, b_major_mode
        )


class MmaTF32Op(WarpgroupOp):
    """wgmma on TFloat32, stored as Float32, with a Float32 accumulator: (64, N, 8).

    Args:
        instruction_shape: (64, N, 8), N a multiple of 8 up to 256.
        a_src: whether A is in shared memory or in registers.
        a_major_mode: K; the only mode that A of this type can be contiguous in.
        b_major_mode: K; likewise.
    """

    allowed = (TFloat32,)

    def __init__(
        self, instruction_shape: Any, a_src: Any = OperandSource.SMEM,
        a_major_mode: Any = OperandMajorMode.K, b_major_mode: Any = OperandMajorMode.K,
        *, loc: Any = None, ip: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            TFloat32, TFloat32, Float32, instruction_shape, a_src, a_major_mode, b_major_mode
        )


class MmaF8Op(WarpgroupOp):
    """wgmma on Float8E4M3FN and Float8E5M2, with a Float32 or Float16 accumulator: (64, N, 32).

    Args:
        a_dtype: type of A.
        b_dtype: type of B.
        acc_dtype: type of the accumulator.
        instruction_shape: (64, N, 32), N a multiple of 8 up to 256.
        a_src: whether A is in shared memory or in registers.
        a_major_mode: K; the only mode that A of this type can be contiguous in.
        b_major_mode: K; likewise.
    """

    allowed = (Float8E4M3FN, Float8E5M2)


class MmaI8Op(WarpgroupOp):
    """wgmma on Int8 and Uint8 with an Int32 accumulator that wraps: (64, N, 32).

    Args:
        a_dtype: type of A.
        b_dtype: type of B.
        acc_dtype: Int32.
        instruction_shape: (64, N, 32), N 8, 16, 24 or a multiple of 16 up to 256.
        a_src: whether A is in shared memory or in registers.
        a_major_mode: K; the only mode that A of this type can be contiguous in.
        b_major_mode: K; likewise.
    """

    allowed = (Int8, Uint8)
