# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Hardware operations as users name them; `atoms` joins them with element types.

>>> MmaF16BF16Op(Float16, Float32, (16, 8, 16)).record.name
'm16n8k16.f32.f16.f16.f32'
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from opencute.arch import copies, mma
from opencute.base.errors import TypeMismatchError
from opencute.lang.numbers import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Float64,
    Int4,
    Int8,
    Int32,
    NumericMeta,
    TFloat32,
    Uint4,
    Uint8,
)  # fmt: skip

__all__ = [
    "PTX_NAMES",
    "CacheEvictionPriority",
    "CopyG2ROp",
    "CopyG2SOp",
    "CopyR2GOp",
    "CopyUniversalOp",
    "L2PrefetchSize",
    "LdMatrix8x8x16bOp",
    "LdMatrix8x16x8bOp",
    "LdMatrix16x16x8bOp",
    "LoadCacheMode",
    "MemoryOrder",
    "MemoryScope",
    "MmaF16BF16Op",
    "MmaF64Op",
    "MmaFP8Op",
    "MmaI4Op",
    "MmaI8Op",
    "MmaTF32Op",
    "MmaUniversalOp",
    "StMatrix8x8x16bOp",
    "StMatrix16x8x8bOp",
]


# ---------------------------------------------------------------- copies
class LoadCacheMode(enum.Enum):
    """Which caches a load goes through."""

    ALWAYS = "ca"
    GLOBAL = "cg"
    STREAMING = "cs"
    LAST_USE = "lu"
    NONE = "cv"


class CacheEvictionPriority(enum.Enum):
    """What becomes of a cache line that is accessed: hints, which change no result."""

    EVICT_NORMAL = "evict_normal"
    EVICT_FIRST = "evict_first"
    EVICT_LAST = "evict_last"
    EVICT_UNCHANGED = "evict_unchanged"
    NO_ALLOCATE = "no_allocate"


class L2PrefetchSize(enum.Enum):
    """How much a load brings into L2 around what it reads: a hint."""

    NONE = 0
    SIZE_64B = 64
    SIZE_128B = 128
    SIZE_256B = 256


class MemoryOrder(enum.Enum):
    """How a load or store is ordered with those of other threads (PTX ISA, "memory consistency
    model")."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    VOLATILE = "volatile"
    CONSTANT = "constant"


class MemoryScope(enum.Enum):
    """The threads that a memory order concerns."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


@dataclass(frozen=True)
class CopyUniversalOp:
    """Ordinary loads and stores, of any type between any two memory spaces."""

    name = "universal_copy"

    def __str__(self) -> str:
        return "Universal copy"


@dataclass(frozen=True)
class CopyG2ROp(CopyUniversalOp):
    """Loads from global memory to registers."""

    def __str__(self) -> str:
        return "Copy from global memory to registers"


@dataclass(frozen=True)
class CopyR2GOp(CopyUniversalOp):
    """Stores from registers to global memory."""

    def __str__(self) -> str:
        return "Copy from registers to global memory"


@dataclass(frozen=True)
class CopyG2SOp:
    """cp.async: copies from global to shared memory that the thread does not wait for.

    Args:
        cache_mode: ALWAYS caches in L1 and L2; GLOBAL only in L2, for 128 bits at once.
    """

    cache_mode: LoadCacheMode = LoadCacheMode.ALWAYS

    def __post_init__(self) -> None:
        if self.cache_mode not in (LoadCacheMode.ALWAYS, LoadCacheMode.GLOBAL):
            raise TypeMismatchError(
                "cp.async has no such cache mode", code="OC1270", found=self.cache_mode,
                expected="LoadCacheMode.ALWAYS or LoadCacheMode.GLOBAL",
            )  # fmt: skip

    @property
    def name(self) -> str:
        """Name of the record."""
        return f"cp_async.{self.cache_mode.value}"

    def __str__(self) -> str:
        return f"cp.async.{self.cache_mode.value}, global to shared memory"


class _MatrixOp:
    """What ldmatrix and stmatrix have in common."""

    kind = ""
    shape = "8x8x16b"
    transpose: bool
    num_matrices: Any

    def check(self, counts: str = "1, 2 or 4") -> None:
        """Refuse what no instruction does."""
        if not isinstance(self.num_matrices, int) or str(self.num_matrices) not in counts:
            raise TypeMismatchError(
                f"{self.kind} moves {counts} matrices", code="OC1271", found=self.num_matrices
            )

    def check_bits(self, bits: Any) -> None:
        """Refuse elements that are not unpacked."""
        if bits not in (None, 4, 6):
            raise TypeMismatchError(
                f"{self.kind} unpacks elements of 4 or 6 bits", code="OC1271", found=bits,
                expected="unpack_bits 4, 6 or None",
            )  # fmt: skip

    @property
    def name(self) -> str:
        """Name of the record."""
        return f"{self.kind}.x{self.num_matrices}{'.trans' if self.transpose else ''}"

    @property
    def record(self) -> copies.CopyAtom:
        """The instruction."""
        return copies.copy_atom(self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.shape} x{self.num_matrices}{' trans' if self.transpose else ''}"


@dataclass(frozen=True, repr=False)
class LdMatrix8x8x16bOp(_MatrixOp):
    """ldmatrix: matrices of 8 x 8 elements of 16 bits, from shared memory to a warp's registers.

    Args:
        transpose: registers get columns instead of rows.
        num_matrices: 1, 2 or 4.
    """

    transpose: bool = False
    num_matrices: int = 1
    kind = "ldmatrix"

    def __post_init__(self) -> None:
        self.check()


@dataclass(frozen=True, repr=False)
class LdMatrix8x16x8bOp(_MatrixOp):
    """ldmatrix for bytes: matrices of 8 x 16 elements of 8 bits, not transposed.

    Args:
        transpose: False.
        num_matrices: 1, 2 or 4.
        unpack_bits: 4 or 6: the first 8 or 12 bytes of a row of 16 are elements of so many bits,
            which become bytes with zeros above (sm_100a and later). None: bytes.
    """

    transpose: bool = False
    num_matrices: int = 1
    unpack_bits: int | None = None
    kind = "ldmatrix"
    shape = "8x16x8b"

    def __post_init__(self) -> None:
        self.check()
        self.check_bits(self.unpack_bits)
        if self.transpose:
            raise TypeMismatchError(
                "ldmatrix cannot transpose 8 x 16 bytes", code="OC1271", found="transpose=True",
                hint="store the operand K-major, use a universal copy, or on sm_100a and later "
                "LdMatrix16x16x8bOp",
            )  # fmt: skip

    @property
    def name(self) -> str:
        """Name of the record."""
        if self.unpack_bits is None:
            return super().name
        return f"ldmatrix.8x16.b{self.unpack_bits}.x{self.num_matrices}"


@dataclass(frozen=True, repr=False)
class LdMatrix16x16x8bOp(_MatrixOp):
    """ldmatrix for bytes: matrices of 16 x 16 elements of 8 bits, transposed; sm_100a and later.

    A thread gets four neighbours of each of two columns of each matrix.

    Args:
        transpose: True.
        num_matrices: 1 or 2.
        unpack_bits: as of `LdMatrix8x16x8bOp`.
    """

    transpose: bool = True
    num_matrices: int = 1
    unpack_bits: int | None = None
    kind = "ldmatrix"
    shape = "16x16x8b"

    def __post_init__(self) -> None:
        self.check("1 or 2")
        self.check_bits(self.unpack_bits)
        if not self.transpose:
            raise TypeMismatchError(
                "ldmatrix transposes 16 x 16 bytes", code="OC1271", found="transpose=False",
                hint="LdMatrix8x16x8bOp does not transpose",
            )  # fmt: skip

    @property
    def name(self) -> str:
        """Name of the record."""
        unpacked = "" if self.unpack_bits is None else f".b{self.unpack_bits}"
        return f"ldmatrix.16x16{unpacked}.x{self.num_matrices}.trans"


@dataclass(frozen=True, repr=False)
class StMatrix8x8x16bOp(_MatrixOp):
    """stmatrix: matrices of 8 x 8 elements of 16 bits, from a warp's registers to shared memory.

    Args:
        transpose: registers have columns instead of rows.
        num_matrices: 1, 2 or 4.
    """

    transpose: bool = False
    num_matrices: int = 1
    kind = "stmatrix"

    def __post_init__(self) -> None:
        self.check()


@dataclass(frozen=True, repr=False)
class StMatrix16x8x8bOp(_MatrixOp):
    """stmatrix for bytes: matrices of 16 x 8 elements of 8 bits, stored transposed: 8 rows of 16
    bytes in shared memory; sm_100a and later.

    Args:
        transpose: True.
        num_matrices: 1, 2 or 4.
    """

    transpose: bool = True
    num_matrices: int = 1
    kind = "stmatrix"
    shape = "16x8x8b"

    def __post_init__(self) -> None:
        self.check()
        if not self.transpose:
            raise TypeMismatchError(
                "stmatrix transposes 16 x 8 bytes", code="OC1271", found="transpose=False",
                hint="StMatrix8x8x16bOp does not transpose",
            )  # fmt: skip

    @property
    def name(self) -> str:
        """Name of the record."""
        return f"stmatrix.16x8.x{self.num_matrices}.trans"


# ---------------------------------------------------------------- MMAs
PTX_NAMES: dict[NumericMeta, str] = {
    Float16: "f16", BFloat16: "bf16", TFloat32: "tf32", Float32: "f32", Float64: "f64",
    Int32: "s32", Int8: "s8", Uint8: "u8", Int4: "s4", Uint4: "u4", Float8E4M3FN: "e4m3",
    Float8E5M2: "e5m2",
}  # fmt: skip


class _MmaOp:
    """What all MMA operations have in common: `a_dtype`, `b_dtype`, `acc_dtype`, `record`."""

    a_dtype: Any
    b_dtype: Any
    acc_dtype: Any

    @property
    def record(self) -> mma.MmaAtom:
        """The instruction."""
        raise AssertionError

    @property
    def shape(self) -> tuple[int, int, int]:
        """(M, N, K) of one instruction."""
        return self.record.mnk

    def __str__(self) -> str:
        r = self.record
        return f"{type(self).__name__} {r.name}"


def _find(
    op: Any, shape: Any, a: NumericMeta, b: NumericMeta, acc: NumericMeta, allowed: tuple[Any, ...]
) -> mma.MmaAtom:
    """The record of a warp's MMA.

    Raises:
        TypeMismatchError: there is none; says which there are.
    """
    names = [PTX_NAMES.get(t, "?") for t in (acc, a, b, acc)]
    try:
        mnk = tuple(int(x) for x in shape)
    except TypeError:
        mnk = ()
    if a in allowed and b in allowed and len(mnk) == 3:
        name = "m{}n{}k{}.".format(*mnk) + ".".join(names)
        if name in mma.MMA_ATOMS:
            return mma.mma_atom(name)
    known = [
        r for r in mma.MMA_ATOMS.values() if r.types == tuple(names) and r.threads > 1
    ]  # fmt: skip
    raise TypeMismatchError(
        f"{type(op).__name__}: there is no such instruction", code="OC1272",
        expected=" or ".join(str(r.mnk) for r in known) if known and a in allowed
        else f"A and B of {', '.join(t.__name__ for t in allowed)}, with an accumulator that "
        "the hardware has for them",
        found=f"shape {shape}, A {a}, B {b}, accumulator {acc}",
    )  # fmt: skip


@dataclass(frozen=True)
class MmaUniversalOp(_MmaOp):
    """A fused multiply-add of one thread.

    Args:
        abacc_dtype: type of all operands: Float16, BFloat16, Float32 or Float64.
    """

    abacc_dtype: Any

    def __post_init__(self) -> None:
        if f"fma.{PTX_NAMES.get(self.abacc_dtype)}" not in mma.MMA_ATOMS:
            raise TypeMismatchError(
                "MmaUniversalOp: no fma for this type", code="OC1272", found=self.abacc_dtype,
                expected="Float16, BFloat16, Float32 or Float64",
            )  # fmt: skip

    @property
    def a_dtype(self) -> Any:  # type: ignore[override]
        """Type of A, and of B and C."""
        return self.abacc_dtype

    b_dtype = acc_dtype = a_dtype  # type: ignore[assignment]

    @property
    def record(self) -> mma.MmaAtom:
        return mma.mma_atom(f"fma.{PTX_NAMES[self.abacc_dtype]}")

    def __str__(self) -> str:
        return f"Universal FMA, {self.abacc_dtype}"


@dataclass(frozen=True)
class _PairOp(_MmaOp):
    """An MMA whose A and B have one type."""

    ab_dtype: Any
    acc_dtype: Any
    shape_mnk: Any

    allowed = ()

    def __post_init__(self) -> None:
        assert self.record

    @property
    def a_dtype(self) -> Any:  # type: ignore[override]
        """Type of A and B."""
        return self.ab_dtype

    b_dtype = a_dtype  # type: ignore[assignment]

    @property
    def record(self) -> mma.MmaAtom:
        return _find(self, self.shape_mnk, self.a_dtype, self.b_dtype, self.acc_dtype, self.allowed)


class MmaF16BF16Op(_PairOp):
    """mma.sync on Float16 (accumulator Float16 or Float32) or BFloat16 (Float32).

    Args:
        ab_dtype: type of A and B.
        acc_dtype: type of the accumulator.
        shape_mnk: (16, 8, 8) or (16, 8, 16).
    """

    allowed = (Float16, BFloat16)
    __str__ = _MmaOp.__str__


class MmaFP8Op(_PairOp):
    """mma.sync on Float8E4M3FN or Float8E5M2, shape (16, 8, 16) or (16, 8, 32); sm_89 and later.

    Args:
        ab_dtype: type of A and B.
        acc_dtype: type of the accumulator.
        shape_mnk: one of these.
    """

    allowed = (Float8E4M3FN, Float8E5M2)
    __str__ = _MmaOp.__str__


@dataclass(frozen=True)
class _ShapeOp(_MmaOp):
    """An MMA whose types are given by its name."""

    shape_mnk: Any

    own: Any = None

    def __post_init__(self) -> None:
        assert self.record

    @property
    def record(self) -> mma.MmaAtom:
        return _find(
            self, self.shape_mnk, self.a_dtype, self.b_dtype, self.acc_dtype, (self.a_dtype,)
        )


class MmaTF32Op(_ShapeOp):
    """mma.sync on TFloat32 with a Float32 accumulator, shape (16, 8, 4) or (16, 8, 8).

    Args:
        shape_mnk: one of these.
        own: accepted; without effect.
    """

    a_dtype = b_dtype = TFloat32
    acc_dtype = Float32
    __str__ = _MmaOp.__str__


class MmaF64Op(_ShapeOp):
    """mma.sync on Float64: (8, 8, 4), and from sm_90 on (16, 8, 4), (16, 8, 8), (16, 8, 16).

    Args:
        shape_mnk: one of these.
        own: accepted; without effect.
    """

    a_dtype = b_dtype = acc_dtype = Float64
    __str__ = _MmaOp.__str__


@dataclass(frozen=True)
class _IntegerOp(_MmaOp):
    a_dtype: Any
    b_dtype: Any
    shape_mnk: Any

    acc_dtype = Int32
    allowed = ()

    def __post_init__(self) -> None:
        assert self.record

    @property
    def record(self) -> mma.MmaAtom:
        return _find(self, self.shape_mnk, self.a_dtype, self.b_dtype, Int32, self.allowed)


class MmaI8Op(_IntegerOp):
    """mma.sync on Int8 and Uint8 with an Int32 accumulator that wraps.

    Args:
        a_dtype: type of A.
        b_dtype: type of B.
        shape_mnk: (8, 8, 16), (16, 8, 16) or (16, 8, 32).
    """

    allowed = (Int8, Uint8)
    __str__ = _MmaOp.__str__


class MmaI4Op(_IntegerOp):
    """mma.sync on Int4 and Uint4: (8, 8, 32), (16, 8, 32) or (16, 8, 64).

    Args:
        a_dtype: type of A.
        b_dtype: type of B.
        shape_mnk: one of these.
    """

    allowed = (Int4, Uint4)
    __str__ = _MmaOp.__str__
