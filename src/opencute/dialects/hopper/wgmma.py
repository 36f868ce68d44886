# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products of warpgroups, which run while their threads go on.

``cute.wgmma`` adds the product of two tiles to a fragment in registers. A tile in shared memory is
the lower half of its descriptor, as an i32, with a layout in units of 16 bytes; the upper half is
an attribute::

    "cute.wgmma"(%d, %a, %b, %accumulate) {atom = "wgmma.m64n128k16.f32.f16.f16.ss",
        a_high = 1073741888, b_high = 1073741888, a_layout = #cute.layout<"(1,1,4):(0,0,2)">, ...}
        : (!cute.ptr<f32, rmem, align<16>>, i32, i32, i1) -> ()

`tiles` makes ``ptx.wgmma`` of it, whose registers are values; fences and waits then take and give
back the registers that they are about.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute.arch.mma import ELEMENT_BITS
from opencute.arch.wgmma import WgmmaAtom, wgmma_atom
from opencute.base.errors import ArgumentError, VerificationError
from opencute.dialects.cute import POINTER, LayoutAttr, PtrType, Tile
from opencute.dialects.ptx import check_word
from opencute.dialects.tiled import ATOM_TYPES, extents
from opencute.ir.attributes import Attribute, DenseI32Attr, IntAttr, StringAttr
from opencute.ir.builder import build, build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import ANY, BOOL, SCALAR_INT, Trait, attr, op, operand, variadic
from opencute.ir.declare import result as result_slot
from opencute.ir.types import F32, I1, I32, I64, Type, VectorType

__all__ = [
    "MAJORS",
    "CuteWgmmaOp",
    "WgmmaCommitOp",
    "WgmmaFenceOp",
    "WgmmaOp",
    "WgmmaWaitOp",
    "a_type",
    "accumulator_type",
    "commit",
    "cute_wgmma",
    "fence",
    "wait",
    "wgmma",
]

MAJORS = ("k", "mn")
_EFFECTS = Trait.READS | Trait.WRITES | Trait.CONVERGENT


def accumulator_type(atom: WgmmaAtom) -> VectorType:
    """The registers of the accumulator of one thread."""
    return VectorType(atom.registers[1], F32 if atom.types[3] == "f32" else I32)


def a_type(atom: WgmmaAtom) -> VectorType:
    """The registers of A of one thread."""
    return VectorType(atom.registers[0], I32)


def _atom(op_: CuteWgmmaOp | WgmmaOp) -> WgmmaAtom:
    try:
        atom = wgmma_atom(op_.atom.value)
    except ArgumentError as e:
        raise VerificationError(
            f"{op_.name}: {e.message}", code="OC1485", loc=op_.loc, expected=e.expected
        ) from None
    for key in ("a_major", "b_major"):
        if check_word(op_, key, MAJORS) == "mn" and not atom.mn_major:
            raise VerificationError(
                f"{op_.name}: operands of {ELEMENT_BITS[atom.types[1]]} bits are contiguous along "
                "K", code="OC1489", loc=op_.loc, expected="k", found=f"{key} mn",
            )  # fmt: skip
    return atom


def _check_metadata(
    op_: CuteWgmmaOp | WgmmaOp, atom: WgmmaAtom, types: Sequence[Type], count: int
) -> None:
    """Raise unless a sparse product, and only that, has the metadata of `count` tiles."""
    chosen = op_.attributes.get("selector")
    selector = chosen.value if isinstance(chosen, IntAttr) else -1
    want = [I32] * count if atom.sparse else []
    if list(types) != want or (selector >= 0) != atom.sparse or selector >= max(atom.selectors, 1):
        raise VerificationError(
            f"{op_.name}: metadata does not fit the atom", code="OC1484", loc=op_.loc,
            expected=f"{len(want)} of i32, selector below {atom.selectors}" if want else "none",
            found=f"{', '.join(map(str, types))}; selector {selector}",
        )  # fmt: skip


@op("cute.wgmma", _EFFECTS)
class CuteWgmmaOp(Op):
    """d += a * b, or d = a * b where `accumulate` is 0, on tiles of (V, M, N), (V, M, K) and
    (V, N, K). It is done when a wait says so; until then nobody may touch d, or a in registers.
    A sparse product has the metadata (i32) of each tile of A in `meta`, and a `selector`."""

    d = operand(POINTER)
    a = operand(ANY)
    b = operand(ANY)
    accumulate = operand(BOOL)
    meta = variadic(SCALAR_INT)
    atom = attr(StringAttr)
    selector = attr(IntAttr, required=False)
    a_major = attr(StringAttr)
    b_major = attr(StringAttr)
    a_high = attr(IntAttr)
    b_high = attr(IntAttr)
    d_layout = attr(LayoutAttr)
    a_layout = attr(LayoutAttr)
    b_layout = attr(LayoutAttr)

    def verify(self) -> None:
        atom = _atom(self)
        for layout in (self.d_layout, self.a_layout, self.b_layout):
            rank = len(layout.shape) if isinstance(layout.shape, tuple) else 1
            if layout.dyns() or rank != 3:
                raise VerificationError(
                    "cute.wgmma: operands have static layouts with three modes",
                    code="OC1486", loc=self.loc, found=layout.text(),
                )  # fmt: skip
        d, a, b = map(extents, (self.d_layout, self.a_layout, self.b_layout))
        va = atom.values[0] if atom.a_in_registers else 1
        want = ((atom.values[2], a[1], b[1]), (va, d[1], b[2]), (1, d[2], a[2]))
        if (d, a, b) != want:
            raise VerificationError(
                "cute.wgmma: the shapes of the operands do not fit the atom and each other",
                code="OC1487", loc=self.loc,
                expected="(V, M, N), (V, M, K), (V, N, K); "
                f"V are {atom.values[2]}, {va}, 1", found=f"{d}, {a}, {b}",
            )  # fmt: skip
        _check_metadata(self, atom, [v.type for v in self.meta], a[1] * a[2])
        self._check_types(atom)

    def _check_types(self, atom: WgmmaAtom) -> None:
        fragments = [(self.d, atom.types[0])]
        if atom.a_in_registers:
            fragments.append((self.a, atom.types[1]))
        for ptr, name in fragments:
            type = ptr.type
            element = type.element if isinstance(type, PtrType) and type.space == "rmem" else None
            if element != ATOM_TYPES[name]:
                raise VerificationError(
                    "cute.wgmma: a fragment is not what the atom takes", code="OC1488",
                    loc=self.loc, expected=f"{ATOM_TYPES[name]} in registers", found=type,
                )  # fmt: skip
        for v in (self.b,) if atom.a_in_registers else (self.a, self.b):
            if v.type != I32:
                raise VerificationError(
                    "cute.wgmma: the lower half of a descriptor is an i32", code="OC1488",
                    loc=self.loc, found=v.type,
                )  # fmt: skip


@op("ptx.wgmma", _EFFECTS)
class WgmmaOp(Op):
    """Some ``wgmma.mma_async`` on one accumulator, one after the other (PTX ISA, "wgmma").

    Each has three operands among `steps`: A (a descriptor, or a vector of registers), the
    descriptor of B, and whether to add to the accumulator; a sparse one has its metadata, too.

    With `turns`, each of them is repeated: three numbers say how often, and what is added to the
    descriptors of A and B before the next time.

    With `wait`, they are made a group, and the result is the registers once at most so many groups
    are under way.
    """

    accumulator = operand(ANY)
    steps = variadic(ANY)
    atom = attr(StringAttr)
    selector = attr(IntAttr, required=False)
    a_major = attr(StringAttr)
    b_major = attr(StringAttr)
    turns = attr(DenseI32Attr, required=False)
    wait = attr(IntAttr, required=False)
    out = result_slot(ANY)

    def verify(self) -> None:
        atom = _atom(self)
        wait = self.attributes.get("wait")
        if isinstance(wait, IntAttr):
            _check_groups(self, wait.value)
        want = accumulator_type(atom)
        one = [a_type(atom) if atom.a_in_registers else I64, I64, I1, *[I32] * atom.sparse]
        _check_metadata(self, atom, [I32] * atom.sparse, 1)
        types = [v.type for v in self.steps]
        if (
            self.accumulator.type != want
            or self.out.type != want
            or not types
            or types != one * (len(types) // len(one))
        ):
            raise VerificationError(
                "ptx.wgmma: operands do not have the atom's registers", code="OC1484",
                loc=self.loc, expected=f"{want}, then {', '.join(map(str, one))} for each step",
                found=", ".join(str(v.type) for v in self.operands),
            )  # fmt: skip
        turns = self.attributes.get("turns")
        if isinstance(turns, DenseI32Attr):
            simple = not (atom.a_in_registers or atom.sparse)
            if not simple or len(turns.values) != len(types) or min(turns.values[::3]) < 1:
                raise VerificationError(
                    "ptx.wgmma: only products of descriptors are repeated", code="OC1484",
                    loc=self.loc, expected="a count and two steps for each", found=turns,
                )  # fmt: skip


def _check_registers(op_: Op) -> None:
    if [v.type for v in op_.operands] != [r.type for r in op_.results]:
        raise VerificationError(
            f"{op_.name}: the results are the operands again", code="OC1484", loc=op_.loc,
            expected=", ".join(str(v.type) for v in op_.operands),
            found=", ".join(str(r.type) for r in op_.results),
        )  # fmt: skip


def _check_groups(op_: Op, count: int) -> None:
    if not 0 <= count <= 7:
        raise VerificationError(
            f"{op_.name}: no such number of groups", code="OC1480", loc=op_.loc,
            expected="0 to 7", found=count,
        )  # fmt: skip


@op("ptx.wgmma_fence", _EFFECTS, variadic_results=True)
class WgmmaFenceOp(Op):
    """What these threads did to registers comes before the products that follow (PTX ISA,
    "wgmma.fence")."""

    registers = variadic(ANY)

    def verify(self) -> None:
        _check_registers(self)


@op("ptx.wgmma_commit", _EFFECTS)
class WgmmaCommitOp(Op):
    """The products since the last one make a group (PTX ISA, "wgmma.commit_group")."""


@op("ptx.wgmma_wait", _EFFECTS, variadic_results=True)
class WgmmaWaitOp(Op):
    """Wait until at most `count` groups are under way (PTX ISA, "wgmma.wait_group"); the results
    are the registers as the others left them."""

    registers = variadic(ANY)
    count = attr(IntAttr)

    def verify(self) -> None:
        _check_groups(self, self.count.value)
        _check_registers(self)


def cute_wgmma(
    atom: str, d: Tile, a: Value, a_layout: LayoutAttr, b: Value, b_layout: LayoutAttr,
    accumulate: Value, *, majors: tuple[str, str] = ("k", "k"), highs: tuple[int, int] = (0, 0),
    meta: Sequence[Value] = (), selector: int | None = None,
) -> Op:  # fmt: skip
    """Add a product to a fragment.

    Args:
        atom: the instruction.
        d: the fragment.
        a: the lower half of a descriptor, or a pointer to a fragment.
        a_layout: of A, in units of 16 bytes where it is in shared memory.
        b: the lower half of a descriptor.
        b_layout: of B, in units of 16 bytes.
        accumulate: an i1.
        majors: ``k`` or ``mn``, of A and B.
        highs: the upper halves of the descriptors of A and B.
        meta: for a sparse product, the metadata of each tile of A, i32.
        selector: which threads' metadata counts.
    """
    attrs: dict[str, Attribute] = {
        "atom": StringAttr(atom), "a_major": StringAttr(majors[0]),
        "b_major": StringAttr(majors[1]), "a_high": IntAttr(highs[0], I64),
        "b_high": IntAttr(highs[1], I64), "d_layout": d.layout, "a_layout": a_layout,
        "b_layout": b_layout,
    }  # fmt: skip
    if selector is not None:
        attrs["selector"] = IntAttr(selector, I64)
    return build("cute.wgmma", (d.ptr, a, b, accumulate, *meta), (), attrs)


def wgmma(
    atom: str, accumulator: Value, steps: Sequence[Sequence[Value]],
    majors: tuple[str, str] = ("k", "k"), selector: int | None = None,
) -> OpResult:  # fmt: skip
    """The accumulator after some instructions, each given by A, B and whether to add, and the
    metadata of sparse ones."""
    attrs: dict[str, Attribute] = {
        "atom": StringAttr(atom), "a_major": StringAttr(majors[0]), "b_major": StringAttr(majors[1])
    }  # fmt: skip
    if selector is not None:
        attrs["selector"] = IntAttr(selector, I64)
    operands = [accumulator, *(v for step in steps for v in step)]
    return build1("ptx.wgmma", operands, accumulator.type, attrs)


def fence(registers: Sequence[Value] = ()) -> Op:
    """Order registers before the products that follow."""
    return build("ptx.wgmma_fence", registers, [v.type for v in registers])


def commit() -> Op:
    """Make a group of the products since the last one."""
    return build("ptx.wgmma_commit", (), ())


def wait(count: int, registers: Sequence[Value] = ()) -> Any:
    """Wait until at most `count` groups are under way."""
    types = [v.type for v in registers]
    return build("ptx.wgmma_wait", registers, types, {"count": IntAttr(count, I64)})
