# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One record per processor: what it can do, as far as the compiler has to know.

In: a name such as ``"sm_90a"`` (or ``"90a"``). Out: a frozen `Target`::

    >>> target("sm_90a").has_wgmma, target("sm_100a").max_access_bits("gmem")
    (True, 256)

Code asks for a capability, never for a list of names. Figures are from the CUDA programming guide,
"Compute capabilities", and the PTX ISA.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from opencute.base.errors import ArgumentError

__all__ = [
    "MAX_BLOCK",
    "MAX_BLOCKS_PER_SM",
    "MAX_CLUSTER",
    "MAX_GRID",
    "MAX_THREADS",
    "PORTABLE_CLUSTER",
    "TARGETS",
    "Target",
    "target",
    "target_names",
]

KIB = 1024

# Limits of a launch, the same on every architecture that we compile for.
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024  # of a block
MAX_CLUSTER = 16  # blocks; more than 8 is not portable
PORTABLE_CLUSTER = 8  # blocks of a cluster that every device with clusters runs
MAX_BLOCKS_PER_SM = 32  # of the largest multiprocessors


@dataclass(frozen=True)
class Target:
    """A processor.

    Args:
        name: what ptxas calls it, ``sm_90a``.
        number: compute capability times ten.
        suffix: ``a`` (this processor only), ``f`` (its family) or nothing.
        ptx: lowest PTX version that knows it, two digits: 86 is 8.6.
        max_smem: bytes of shared memory that one block may have, dynamic opt-in included.
        max_threads_per_sm: resident threads.
        max_blocks_per_sm: resident blocks.
    """

    name: str
    number: int
    suffix: str
    ptx: int
    max_smem: int
    max_threads_per_sm: int
    max_blocks_per_sm: int

    max_threads_per_block = MAX_THREADS
    max_registers_per_thread = 255
    registers_per_sm = 65536
    warp_size = 32
    default_smem = 48 * KIB
    param_bytes = 4096
    """Bytes of kernel parameters that every driver takes."""

    def __post_init__(self) -> None:
        if self.name != f"sm_{self.number}{self.suffix}":
            raise ArgumentError(f"target {self.name}: name and number differ", code="OC2910")
        if self.suffix not in ("", "a", "f") or (self.suffix and self.number < 90):
            raise ArgumentError(f"target {self.name}: no such variant", code="OC2910")
        if self.max_smem % KIB or not self.default_smem < self.max_smem <= 227 * KIB:
            raise ArgumentError(f"target {self.name}: {self.max_smem} B of smem", code="OC2910")
        if self.max_threads_per_sm % self.warp_size:
            raise ArgumentError(f"target {self.name}: threads per SM", code="OC2910")

    @property
    def capability(self) -> tuple[int, int]:
        """Major and minor compute capability."""
        return divmod(self.number, 10)

    @property
    def arch_specific(self) -> bool:
        """Whether instructions of only this processor or its family may be used."""
        return self.suffix != ""

    @property
    def has_f16x2(self) -> bool:
        """Packed f16 add, mul, fma, min and max."""
        return self.number >= 80

    @property
    def has_bf16x2_fma(self) -> bool:
        """Packed bf16 fma, min and max."""
        return self.number >= 80

    @property
    def has_bf16x2_arith(self) -> bool:
        """Packed bf16 add, sub and mul of their own; before, they are written as fma."""
        return self.number >= 90

    @property
    def has_f32x2(self) -> bool:
        """Two f32 operations in one instruction."""
        return self.number >= 100 and self.number < 120

    @property
    def has_redux_f32(self) -> bool:
        """Minimum and maximum of floats over a warp in one instruction."""
        return self.number == 100 and self.arch_specific

    @property
    def has_f8_cvt(self) -> bool:
        """Conversions between f8 and f16 or f32."""
        return self.number >= 89

    @property
    def has_bf16_cvt(self) -> bool:
        """Conversions between bf16 and integers that round once."""
        return self.number >= 90

    @property
    def has_narrow_cvt(self) -> bool:
        """Conversions between f32 or f16 and the formats of 6 and 4 bits."""
        return self.number >= 100 and self.arch_specific

    @property
    def has_pdl(self) -> bool:
        """Programmatic dependent launch."""
        return self.number >= 90

    @property
    def has_clusters(self) -> bool:
        """Thread block clusters."""
        return self.number >= 90

    @property
    def has_tma(self) -> bool:
        """Tensor memory accelerator copies."""
        return self.number >= 90

    @property
    def has_wgmma(self) -> bool:
        """Warpgroup matrix multiply of Hopper."""
        return self.number == 90 and self.suffix == "a"

    @property
    def has_tcgen05(self) -> bool:
        """Tensor memory and fifth-generation tensor cores."""
        return 100 <= self.number < 120 and self.arch_specific

    def max_access_bits(self, space: str) -> int:
        """The widest load or store of one thread in a memory space."""
        return 256 if space == "gmem" and self.number >= 100 else 128

    def __str__(self) -> str:
        return self.name


def _row(name: str, ptx: int, smem_kib: int, threads: int, blocks: int) -> tuple[str, Target]:
    digits = name.removeprefix("sm_").rstrip("af")
    suffix = name.removeprefix(f"sm_{digits}")
    return name, Target(name, int(digits), suffix, ptx, smem_kib * KIB, threads, blocks)


TARGETS: dict[str, Target] = dict(
    (
        _row("sm_80", 70, 163, 2048, 32),
        _row("sm_86", 71, 99, 1536, 16),
        _row("sm_87", 74, 163, 1536, 16),
        _row("sm_88", 90, 163, 1536, 16),
        _row("sm_89", 78, 99, 1536, 24),
        _row("sm_90", 78, 227, 2048, 32),
        _row("sm_90a", 80, 227, 2048, 32),
        _row("sm_100", 86, 227, 2048, 32),
        _row("sm_100a", 86, 227, 2048, 32),
        _row("sm_100f", 88, 227, 2048, 32),
        _row("sm_103", 88, 227, 2048, 32),
        _row("sm_103a", 88, 227, 2048, 32),
        _row("sm_103f", 88, 227, 2048, 32),
        _row("sm_110", 90, 227, 1536, 24),
        _row("sm_110a", 90, 227, 1536, 24),
        _row("sm_110f", 90, 227, 1536, 24),
        _row("sm_120", 87, 99, 1536, 24),
        _row("sm_120a", 87, 99, 1536, 24),
        _row("sm_120f", 88, 99, 1536, 24),
        _row("sm_121", 88, 99, 1536, 24),
        _row("sm_121a", 88, 99, 1536, 24),
        _row("sm_121f", 88, 99, 1536, 24),
    )
)


def target_names() -> tuple[str, ...]:
    """All processors, oldest first."""
    return tuple(TARGETS)


@lru_cache(maxsize=64)
def target(name: str) -> Target:
    """The record of a processor.

    Args:
        name: ``sm_90a``, or ``90a``.

    Raises:
        ArgumentError: no such processor; the error lists those that exist.
    """
    full = name if name.startswith("sm_") else f"sm_{name}"
    if full in TARGETS:
        return TARGETS[full]
    raise ArgumentError(
        f"no target is called {name!r}",
        code="OC2911",
        expected=", ".join(TARGETS),
        found=name,
    )
