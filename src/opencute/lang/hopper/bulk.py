# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of runs of bytes that a thread starts and does not wait for.

Each thread that calls `copy` with such an atom starts one copy for each run that is contiguous on
both sides. It is done when an mbarrier has counted its bytes (copies to shared memory), or when the
thread has waited for its group::

    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32)
    with elect_one():
        cute.copy(atom, g, s, mbar_ptr=bar)
"""

# Layouts hold nested tuples of any numbers.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opencute import layout as la
from opencute.base.errors import ArgumentError, LayoutError, TypeMismatchError
from opencute.dialects import cute
from opencute.dialects.hopper import bulk
from opencute.ir.core import Value
from opencute.lang.hopper.tma_copy import cache_policy_of, narrow
from opencute.lang.numbers import NumericMeta
from opencute.lang.pointers import AddressSpace, Pointer, element_bits, pointer_type
from opencute.lang.tensors import TracedTensor
from opencute.lang.tiled.atoms import CopyAtom
from opencute.lang.vectors import ReductionOp
from opencute.layout import Layout

__all__ = [
    "BulkAtom",
    "CopyBulkG2SMulticastOp",
    "CopyBulkG2SOp",
    "CopyBulkS2GOp",
    "CopyBulkS2SOp",
    "CopyReduceBulkS2GOp",
    "CopyReduceBulkS2SOp",
    "cp_async_bulk_commit_group",
    "cp_async_bulk_wait_group",
]

_ALIGN = 16
_SMEM = AddressSpace.smem


@dataclass(frozen=True)
class _BulkOp:
    """What copies of runs have in common: their memories, and who gets the data."""

    name = ""
    path = (AddressSpace.gmem, _SMEM)
    multicast = False

    @property
    def reduction(self) -> str:
        """The word of a reduction, empty for a copy."""
        return ""

    def make_atom(self, value_type: NumericMeta, num_bits: int) -> BulkAtom:
        """The atom for elements of a type; see `make_copy_atom`."""
        return BulkAtom(self, value_type, num_bits)

    def __str__(self) -> str:
        return f"cp.async.bulk, {self.path[0].name} to {self.path[1].name}"


class CopyBulkG2SOp(_BulkOp):
    """A run of bytes from global to shared memory.

    Runs are contiguous on both sides, of a multiple of 16 bytes, at addresses that are multiples of
    16 (PTX ISA, "cp.async.bulk"). `cute.copy` with its atom takes ``mbar_ptr=``, the mbarrier that
    counts the bytes, and ``cache_policy=``. Each thread that calls it starts the copy, so one
    thread does::

        atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(bar, 4 * cute.size(s))
            cute.copy(atom, g, s, mbar_ptr=bar)
    """

    name = "bulk_g2s"


class CopyBulkG2SMulticastOp(_BulkOp):
    """A run of bytes from global memory to the shared memory of several blocks of a cluster."""

    name = "bulk_g2s_multicast"
    multicast = True


class CopyBulkS2GOp(_BulkOp):
    """A run of bytes from shared to global memory."""

    name = "bulk_s2g"
    path = (_SMEM, AddressSpace.gmem)


class CopyBulkS2SOp(_BulkOp):
    """A run of bytes from shared memory to that of another block of the cluster."""

    name = "bulk_s2s"
    path = (_SMEM, AddressSpace.dsmem)


@dataclass(frozen=True)
class _Reduces(_BulkOp):
    """What combinations of memory have in common.

    Args:
        reduction_kind: ReductionOp.ADD, MIN, MAX, INC, DEC, AND, OR or XOR.
    """

    reduction_kind: Any = ReductionOp.ADD

    def __post_init__(self) -> None:
        if self.reduction not in bulk.BULK_REDUCTIONS:
            raise TypeMismatchError(
                "no such reduction in memory", code="OC1601", found=self.reduction_kind,
                expected=", ".join(f"ReductionOp.{w.upper()}" for w in bulk.BULK_REDUCTIONS),
            )  # fmt: skip

    @property
    def reduction(self) -> str:
        return str(getattr(self.reduction_kind, "name", self.reduction_kind)).lower()

    def type_word(self, dtype: NumericMeta) -> str:
        """PTX's word for elements that are combined.

        Raises:
            TypeMismatchError: such elements cannot be combined so.
        """
        words = bulk.BULK_REDUCTIONS[self.reduction]
        name, bits = dtype.dtype.name, dtype.dtype.width
        known = [name]
        if not dtype.dtype.is_float:
            own = f"{'s' if dtype.dtype.signed else 'u'}{bits}"
            # Sums of signed and unsigned numbers have the same bits.
            known = [own, f"u{bits}" if self.reduction == "add" else own, f"b{bits}"]
        found = next((w for w in known if w in words), None)
        if found is None:
            raise TypeMismatchError(
                f"{self} does not combine such elements", code="OC1227", found=dtype,
                expected=", ".join(words),
            )  # fmt: skip
        return found

    def __str__(self) -> str:
        return f"cp.reduce.async.bulk.{self.reduction}, {self.path[0].name} to {self.path[1].name}"


class CopyReduceBulkS2GOp(_Reduces):
    """Combine global memory with a run of elements of shared memory.

    Args:
        reduction_kind: a `ReductionOp`: ADD, MIN, MAX, INC, DEC, AND, OR or XOR.
    """

    name = "bulk_reduce_s2g"
    path = (_SMEM, AddressSpace.gmem)


class CopyReduceBulkS2SOp(_Reduces):
    """Combine the shared memory of another block of the cluster with a run of elements.

    Args:
        reduction_kind: a `ReductionOp`: ADD, MIN, MAX, INC, DEC, AND, OR or XOR.
    """

    name = "bulk_reduce_s2s"
    path = (_SMEM, AddressSpace.dsmem)


class BulkAtom(CopyAtom):
    """A copy of runs of bytes.

    Args:
        op: the operation.
        value_type: numeric class of the elements.
        num_bits: bits of one run; 0: as long as both sides are contiguous.
    """

    @property
    def num_values(self) -> int:
        return max(self.num_bits // element_bits(self.value_type), 1)

    @property
    def thr_id(self) -> Layout:  # type: ignore[override]
        """One thread starts a copy."""
        return Layout(1, 0)

    @property
    def layout_src_tv(self) -> Layout:  # type: ignore[override]
        """(thread, value) to position in the run."""
        return Layout((1, self.num_values), (0, 1))

    layout_dst_tv = layout_src_tv  # type: ignore[assignment]

    @property
    def reference(self) -> Layout:
        return self.layout_src_tv

    def copy_tensors(
        self, src: Any, dst: Any, pred: Any = None, *, mbar_ptr: Any = None,
        tma_bar_ptr: Any = None, mcast_mask: Any = None, cache_policy: Any = None,
        loc: Any = None, ip: Any = None,
    ) -> None:  # fmt: skip
        """What `cute.copy` does with this atom.

        Args:
            src: the source.
            dst: the destination, of as many elements.
            pred: refused.
            mbar_ptr: for copies to shared memory, the mbarrier that counts their bytes.
            tma_bar_ptr: the same.
            mcast_mask: for multicast copies, the blocks that get the data.
            cache_policy: a cache policy, where global memory takes part.

        Raises:
            LayoutError: sizes differ, or runs are no multiples of 16 bytes.
            TypeMismatchError: an operand is missing, or not of this kind.
        """
        if pred is not None:
            raise TypeMismatchError("copy: a bulk copy takes no predicate", code="OC1227")
        s, d = self._memory("src", src, self.op.path[0]), self._memory("dst", dst, self.op.path[1])
        if s.element_type is not d.element_type:
            raise TypeMismatchError(
                "copy: element types differ", code="OC1238", expected=s.element_type,
                found=d.element_type,
            )  # fmt: skip
        bar = self._bar(mbar_ptr if mbar_ptr is not None else tma_bar_ptr)
        cache = cache_policy_of(cache_policy)
        if cache is not None and AddressSpace.gmem not in self.op.path:
            raise TypeMismatchError(
                f"copy: {self.op} has no cache policy", code="OC1227", found="cache_policy",
                expected="none: no global memory takes part",
            )  # fmt: skip
        self._runs(s, d, bar, self._mask(mcast_mask), cache)

    def _mask(self, mask: Any) -> Value | None:
        """The blocks that get the data, an i16; None for copies to one block."""
        if not self.op.multicast:
            if mask is not None and not (isinstance(mask, int) and mask in (0, 1)):
                raise TypeMismatchError(
                    f"copy: {self.op} is for one block", code="OC1227", found="mcast_mask",
                    expected="CopyBulkG2SMulticastOp()",
                )  # fmt: skip
            return None
        if mask is None:
            raise TypeMismatchError(
                f"copy: {self.op} needs the blocks that get the data", code="OC1227",
                expected="mcast_mask=",
            )  # fmt: skip
        return narrow(mask, 16)

    def _memory(self, name: str, t: Any, space: AddressSpace) -> TracedTensor:
        ok = isinstance(t, TracedTensor) and isinstance(t.iterator, Pointer)
        if not ok or t.memspace != space or t.iterator.swizzle:
            raise TypeMismatchError(
                f"copy: {self.op} does not take {name}", code="OC1277", found=str(t),
                expected=f"a tensor in {space.name}, without swizzle",
            )  # fmt: skip
        if not isinstance(t.layout, Layout) or not la.is_static(t.layout.shape):
            raise LayoutError(
                f"copy: {name} needs a plain layout of static shape", code="OC1362", found=t.layout
            )
        return t

    def _bar(self, pointer: Any) -> Value | None:
        if self.op.path[1] == AddressSpace.gmem:
            if pointer is not None:
                raise TypeMismatchError(
                    f"copy: {self.op} has no barrier", code="OC1227",
                    hint="wait with cute.arch.cp_async_bulk_commit_group() and "
                    "cute.arch.cp_async_bulk_wait_group(0)",
                )  # fmt: skip
            return None
        if not isinstance(pointer, Pointer) or pointer.memspace != self.op.path[1]:
            raise TypeMismatchError(
                f"copy: {self.op} needs an mbarrier", code="OC1227", found=str(pointer),
                expected=f"mbar_ptr=, a pointer to 8 bytes of {self.op.path[1].name}",
            )  # fmt: skip
        return (pointer if pointer.alignment >= 8 else pointer.align(8)).value

    def _runs(
        self, s: TracedTensor, d: TracedTensor, bar: Value | None, mask: Value | None,
        cache: Value | None,
    ) -> None:  # fmt: skip
        if la.size(s.layout) != la.size(d.layout):
            raise LayoutError(
                "copy: source and destination differ in size", code="OC1363",
                expected=s.layout, found=d.layout,
            )  # fmt: skip
        common = la.max_common_layout(s.layout, d.layout)
        count, bits = la.size(common), element_bits(s.element_type)
        most = self.num_bits // bits or count
        run = min(count, most)
        if run * bits % (8 * _ALIGN) or count % run:
            raise LayoutError(
                f"copy: {self.op}: runs of {run} elements are no multiples of 16 bytes",
                code="OC1336", expected=f"multiples of {8 * _ALIGN // bits} elements",
                found=f"{s.layout} and {d.layout}",
            )  # fmt: skip
        order = la.composition(common, la.make_layout(run))
        sides = [la.logical_divide(t.layout, order) for t in (s, d)]
        for i in range(la.size(sides[0][1])):
            src, dst = (
                _aligned(t.iterator + side[1](i)) for t, side in zip((s, d), sides, strict=True)
            )
            size = narrow(run * bits // 8, 32)
            if isinstance(self.op, _Reduces):
                words = self.op.reduction, self.op.type_word(s.element_type)
                bulk.bulk_reduce(*words, dst, src, size, bar, cache=cache)
            else:
                bulk.bulk_copy(dst, src, size, bar, mask=mask, cache=cache)


def _aligned(pointer: Pointer) -> Value:
    if pointer.alignment >= _ALIGN:
        return pointer.value
    type = pointer_type(pointer.dtype, pointer.memspace, _ALIGN)
    return cute.recast(pointer.value, type)


def cp_async_bulk_commit_group(*, loc: Any = None, ip: Any = None) -> None:
    """Make the thread's copies to global memory since the last commit a group."""
    bulk.bulk_commit()


def cp_async_bulk_wait_group(
    group: Any = 0, *, read: Any = None, loc: Any = None, ip: Any = None
) -> None:
    """Wait until at most `group` of the thread's newest groups are under way.

    Args:
        group: how many, a compile-time integer.
        read: wait only until they have read their sources, which may then be written again.

    Raises:
        ArgumentError: no such number.
    """
    if not isinstance(group, int) or group < 0:
        raise ArgumentError(
            "cp_async_bulk_wait_group takes a number of groups", code="OC2932", found=group,
            expected="a compile-time integer, 0 or more",
        )  # fmt: skip
    bulk.bulk_wait(group, read=bool(read))
