# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copy and MMA atoms: an instruction for elements of some type.

In: an operation such as `CopyG2SOp()` and a type. Out: an atom with thread-value layouts, which
`copying` and `multiplying` spread over threads.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any, NoReturn

from opencute import layout as la
from opencute.arch import copies
from opencute.arch.hints import AccessHints
from opencute.arch.mma import MmaAtom as MmaRecord
from opencute.arch.sparse import SparseMmaAtom
from opencute.arch.wgmma import WgmmaAtom as WgmmaRecord
from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.base.suggest import did_you_mean
from opencute.lang.numbers import NumericMeta, Uint16
from opencute.lang.tensors import TracedTensor, make_fragment_like, make_rmem_tensor
from opencute.lang.tiled.hints import HINTS, check_hints, hints_of
from opencute.layout import ComposedLayout, Layout, make_layout

__all__ = ["CopyAtom", "MmaAtom", "make_copy_atom", "make_mma_atom"]


_NO_HINTS = AccessHints()


class _Frozen:
    """Equal and hashable by `key`: compiled functions take atoms as compile-time values."""

    @property
    def key(self) -> Any:
        """What makes it equal to another one."""
        raise AssertionError

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.key == getattr(other, "key", None)

    def __hash__(self) -> int:
        return hash(self.key)

    def set(self, field: Any, value: Any, *, loc: Any = None, ip: Any = None) -> None:
        """Set a field that the instruction reads at run time to `value`; most have none.

        Raises:
            TypeMismatchError: OC1273, the instruction has no such field.
        """
        self._no_field(field)

    def get(self, field: Any, *, loc: Any = None, ip: Any = None) -> Any:
        """A field that the instruction reads at run time."""
        self._no_field(field)

    def _no_field(self, field: Any) -> NoReturn:
        raise TypeMismatchError(
            f"{type(self).__name__}: the instruction has no field {field}", code="OC1273",
            found=str(self).splitlines()[0], expected="an instruction with run-time fields",
        )  # fmt: skip


class CopyAtom(_Frozen):
    """One copy instruction for elements of a type.

    Args:
        op: the instruction, such as `CopyUniversalOp()`.
        value_type: numeric class of the elements.
        num_bits: bits moved at once by a thread; 0: one element here, and in `copy` as many as
            alignment and layout allow.
        hints: memory order and caches.
    """

    def __init__(
        self, op: Any, value_type: NumericMeta, num_bits: int = 0, hints: AccessHints = _NO_HINTS
    ) -> None:
        self.hints = hints
        self.op = op
        self.value_type = value_type
        self.num_bits = num_bits

    @property
    def key(self) -> Any:
        return (self.op, self.value_type, self.num_bits, self.hints)

    @property
    def atom(self) -> CopyAtom:
        """The atom of a tiled copy; an atom is its own."""
        return self

    @property
    def record(self) -> copies.CopyAtom:
        """The instruction."""
        return copies.copy_atom(self.op.name)

    @property
    def num_values(self) -> int:
        """Elements per thread and instruction, on the side that is in registers."""
        return la.size(self.layout_dst_tv if self._loads() else self.layout_src_tv, mode=[1])

    def _loads(self) -> bool:
        return self.record.grain == 0 or self.record.loads

    @cached_property
    def thr_id(self) -> Layout:
        """Layout of the threads that execute the instruction together."""
        n = self.record.threads
        return Layout(n, 1 if n > 1 else 0)

    def _side(self, layout: Layout | None) -> Layout:
        bits = self.value_type.dtype.memory_bits
        if layout is None:
            return Layout((1, max(self.num_bits // bits, 1)), (0, 1))
        return la.recast_layout(bits, self.record.grain, layout)

    @cached_property
    def layout_src_tv(self) -> Layout:
        """(thread, value) to position in the atom, for the source."""
        return self._side(self.record.src)

    @cached_property
    def layout_dst_tv(self) -> Layout:
        """(thread, value) to position in the atom, for the destination."""
        return self._side(self.record.dst)

    @property
    def reference(self) -> Layout:
        """The side that tilings speak of: the one in registers."""
        return self.layout_dst_tv if self._loads() else self.layout_src_tv

    def _atom_lines(self) -> list[str]:
        return [
            "Copy Atom",
            f"  ThrID:           {self.thr_id}",
            f"  TV Layout Src:   {self.layout_src_tv}",
            f"  TV Layout Dst:   {self.layout_dst_tv}",
            f"  Value type:      {self.value_type.dtype.name}",
            *([f"  Hints:           {self.hints}"] if self.hints else []),
        ]

    def __str__(self) -> str:
        return "\n".join(self._atom_lines())

    def __repr__(self) -> str:
        bits = f", {self.num_bits} bits" if self.num_bits else ""
        return f"<{type(self).__name__} {self.op}, {self.value_type}{bits}>"


def make_copy_atom(
    op: Any, copy_internal_type: NumericMeta, *, num_bits_per_copy: int = 0,
    loc: Any = None, ip: Any = None, **options: Any,
) -> CopyAtom:  # fmt: skip
    """A copy atom.

    Args:
        op: the instruction, such as `CopyUniversalOp()`.
        copy_internal_type: numeric class of the elements.
        num_bits_per_copy: bits per thread and instruction; 0 leaves it to alignment and layout.
        options: of loads and stores, ``memory_order=`` and ``memory_scope=``, and the hints
            ``l1c_evict_priority=``, ``l2_prefetch_size=`` and ``invariant=``; of cp.async,
            ``l2_prefetch_size=``.

    Raises:
        ArgumentError: the instruction takes no such hint, or there is none.
        LayoutError: the bits are no multiple of the element's, or the instruction has no such
            width; elements that its matrices cannot be made of.

    Example:
        >>> op = cute.nvgpu.CopyUniversalOp()
        >>> cute.make_copy_atom(op, cutlass.Float32, num_bits_per_copy=128).num_values
        4
    """
    for name in options:
        if name not in HINTS:
            raise TypeMismatchError(
                f"make_copy_atom() has no argument {name!r}", code="OC1267",
                expected="num_bits_per_copy",
                hint=did_you_mean(name, ("num_bits_per_copy", *HINTS)) or None,
            )  # fmt: skip
    hints = hints_of(**options)
    own = getattr(op, "make_atom", None)
    if own is not None:
        check_hints(op, None, hints)
        return own(copy_internal_type, int(num_bits_per_copy))
    if not isinstance(getattr(op, "name", None), str) or op.name not in copies.COPY_ATOMS:
        raise TypeMismatchError(
            "make_copy_atom: not a copy operation", code="OC1274", found=repr(op),
            expected="an operation such as cute.nvgpu.CopyUniversalOp()",
        )  # fmt: skip
    bits, record = copy_internal_type.dtype.memory_bits, copies.copy_atom(op.name)
    check_hints(op, record, hints)
    width = int(num_bits_per_copy)
    if width % bits:
        raise LayoutError(
            "num_bits_per_copy is no multiple of the element", code="OC1360",
            expected=f"a multiple of {bits}", found=num_bits_per_copy,
        )  # fmt: skip
    if record.grain == 0 and record.spaces and width not in record.widths:
        raise LayoutError(
            f"{op}: no instruction copies {width} bits", code="OC1370",
            expected=" or ".join(map(str, record.widths)), found=num_bits_per_copy,
        )  # fmt: skip
    fixed = record.trans or record.grain == 8
    if record.grain and (bits > 32 or bits < 8 or (fixed and bits != record.grain)):
        raise LayoutError(
            f"{op}: its matrices are not made of such elements", code="OC1371",
            expected=f"elements of {record.grain} bits" + ("" if fixed else ", or 8, or 32"),
            found=copy_internal_type,
        )  # fmt: skip
    return CopyAtom(op, copy_internal_type, width if record.grain == 0 else 0, hints)


class MmaAtom(_Frozen):
    """One multiply-accumulate instruction.

    Args:
        op: the instruction, such as ``warp.MmaF16BF16Op(...)``.
    """

    def __init__(self, op: Any) -> None:
        self.op = op
        self.settings: Any = op.settings() if hasattr(op, "settings") else None
        """What the instruction reads at run time; None for most."""

    @property
    def key(self) -> Any:
        return self.op

    def parts(self) -> tuple[Any, ...]:
        """Objects in it that may change while a kernel is traced."""
        return () if self.settings is None else (self.settings,)

    def fresh(self) -> Any:
        """The same with settings of its own, which begin as these are."""
        if self.settings is None:
            return self
        out = copy.copy(self)
        out.settings = copy.copy(self.settings)
        return out

    def set(self, field: Any, value: Any, *, loc: Any = None, ip: Any = None) -> None:
        """Set a field that the instruction reads at run time.

        Products of warpgroups, dense and sparse, have one, ``warpgroup.Field.ACCUMULATE``:
        with False a `gemm` overwrites the accumulator by the product over all of its K, with True,
        as it is at first, it adds to it (PTX ISA, "wgmma.mma_async", ``scale-d``). Products of
        warps (``warp.Mma...Op``) and `MmaUniversalOp` have none. The field stays until it is set
        again; an atom and what is made of it, a tiled MMA and its slices, share it.

        Args:
            field: which.
            value: a bool, or a Boolean that is known at run time only.

        Raises:
            TypeMismatchError: OC1273, the instruction has no such field.
        """
        if self.settings is None:
            self._no_field(field)
        setattr(self.settings, self.op.field(field), value)

    def get(self, field: Any, *, loc: Any = None, ip: Any = None) -> Any:
        """A field that the instruction reads at run time."""
        if self.settings is None:
            self._no_field(field)
        return getattr(self.settings, self.op.field(field))

    @property
    def atom(self) -> MmaAtom:
        """The atom of a tiled MMA; an atom is its own."""
        return self

    @cached_property
    def record(self) -> MmaRecord | WgmmaRecord | SparseMmaAtom:
        """The instruction."""
        return self.op.record

    @cached_property
    def thr_id(self) -> Layout:
        """Layout of the threads that execute the instruction together."""
        n = self.record.threads
        return Layout(n, 1 if n > 1 else 0)

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        """(M, N, K) of one instruction."""
        return self.record.mnk

    @property
    def tv_layout_A(self) -> Layout:
        """(thread, value) to place in the M x K tile."""
        return self.record.a

    @property
    def tv_layout_B(self) -> Layout:
        """(thread, value) to place in the N x K tile."""
        return self.record.b

    @property
    def tv_layout_C(self) -> Layout:
        """(thread, value) to place in the M x N tile."""
        return self.record.c

    @property
    def tv_layout_E(self) -> Layout:
        """(thread, value) to place in the tile of metadata, where A is sparse."""
        layout = getattr(self.op, "metadata_layout", None)
        if layout is None:
            raise TypeMismatchError(
                f"{self.op}: A is not sparse, and has no metadata",
                code="OC1273",
                expected="an operation such as warp.MmaSparseOp",
            )
        return layout

    def k_part(self, which: str) -> int:
        """How many elements along k one of operand A, B or E (metadata) stands for."""
        parts: dict[str, int] = getattr(self.op, "k_parts", {})
        return parts.get(which, 1)

    # ---- fragments
    def make_fragment_E(self, e: Any, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """A register tensor for a partition of the metadata of a sparse A.

        Args:
            e: the partition.
        """
        assert self.tv_layout_E
        return _fragment(e, Uint16)

    def make_fragment_A(self, a: Any, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """A register tensor for a partition of A (a tensor, layout or shape); descriptors of the
        partition where the instruction reads A from shared memory."""
        return self._fragment("A", a, self.op.a_dtype)

    def make_fragment_B(self, b: Any, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """A register tensor for a partition of B, or descriptors of it.

        Args:
            b: the partition.
        """
        return self._fragment("B", b, self.op.b_dtype)

    def _fragment(self, which: str, source: Any, dtype: NumericMeta) -> TracedTensor:
        make = getattr(self.op, "fragment", None)
        made = None if make is None else make(which, source)
        return _fragment(source, dtype) if made is None else made

    def make_fragment_C(self, c: Any, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """A register tensor for a partition of C: compact, the first mode fastest.

        Args:
            c: the partition, or its shape.
        """
        shape = getattr(c, "shape", c)
        return make_rmem_tensor(make_layout(shape), self.op.acc_dtype)

    def _atom_lines(self) -> list[str]:
        return [
            "MMA Atom",
            f"  ThrID:           {self.thr_id}",
            f"  Shape MNK:       {la.to_str(self.shape_mnk)}",
            f"  TV Layout A:     {self.tv_layout_A}",
            f"  TV Layout B:     {self.tv_layout_B}",
            f"  TV Layout C:     {self.tv_layout_C}",
        ]

    def __str__(self) -> str:
        return "\n".join(self._atom_lines())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.op}>"


def _fragment(source: Any, dtype: NumericMeta) -> TracedTensor:
    if isinstance(source, TracedTensor | Layout | ComposedLayout):
        return make_fragment_like(source, dtype)
    return make_rmem_tensor(make_layout(source), dtype)


def make_mma_atom(op: Any, *, loc: Any = None, ip: Any = None) -> MmaAtom:
    """An MMA atom of an operation such as ``warp.MmaF16BF16Op(...)``.

    Args:
        op: the operation.

    Raises:
        TypeMismatchError: not an MMA operation.
    """
    if isinstance(op, MmaAtom):
        return op
    if not isinstance(getattr(op, "record", None), MmaRecord | WgmmaRecord | SparseMmaAtom):
        raise TypeMismatchError(
            "not an MMA operation", code="OC1275", found=repr(op),
            expected="an operation such as cute.nvgpu.warp.MmaF16BF16Op(...)",
        )  # fmt: skip
    return MmaAtom(op)
