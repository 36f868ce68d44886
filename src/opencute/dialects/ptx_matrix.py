# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX instructions on small matrices that a whole warp holds: ldmatrix, stmatrix, mma.

Registers stand as vectors: of f32, f64 or i32 for elements of these types, and of i32 for all
narrower ones, which are packed, the first in the low bits::

    %a = "ptx.ldmatrix"(%p) {num = 4, shape = "8x8.b16", trans = 0}
         : (!cute.ptr<f16, smem, align<16>>) -> vector<4xi32>
    %d = "ptx.mma"(%a, %b, %c) {atom = "m16n8k16.f32.f16.f16.f32"}
         : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>

Which thread holds which elements is in the records of `opencute.arch.mma` and `arch.copies`.
"""

from __future__ import annotations

from opencute.arch.mma import MMA_ATOMS, MmaAtom, mma_atom
from opencute.arch.sparse import SPARSE_MMA_ATOMS, SparseMmaAtom, sparse_mma_atom
from opencute.base.errors import VerificationError
from opencute.dialects.cute import PtrType
from opencute.dialects.ptx import check_word
from opencute.ir.attributes import IntAttr, StringAttr
from opencute.ir.builder import build, build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import ANY, Trait, attr, op, operand, result
from opencute.ir.types import F32, F64, I32, I64, Type, VectorType

__all__ = [
    "LOAD_SHAPES",
    "STORE_SHAPES",
    "LdMatrixOp",
    "MmaOp",
    "MmaSparseOp",
    "StMatrixOp",
    "ldmatrix",
    "mma",
    "mma_sparse",
    "register_types",
    "stmatrix",
]

_UNPACKED = ("b8x16.b4x16_p64", "b8x16.b6x16_p32")
LOAD_SHAPES = (
    "8x8.b16",
    "16x16.b8",
    *(f"{shape}.{form}" for shape in ("16x16", "8x16") for form in _UNPACKED),
)
STORE_SHAPES = ("8x8.b16", "16x8.b8")


def register_types(atom: MmaAtom | SparseMmaAtom) -> tuple[Type, Type, Type]:
    """The vectors of registers of A, B and C (also D) of one thread."""
    a, b, c = (
        VectorType(n, {"f32": F32, "f64": F64}.get(t, I32))
        for n, t in zip(atom.registers, atom.types[1:], strict=True)
    )
    return a, b, c


def _matrix(op_: LdMatrixOp | StMatrixOp, ptr: Value, registers: Value) -> None:
    loads = isinstance(op_, LdMatrixOp)
    shape = check_word(op_, "shape", LOAD_SHAPES if loads else STORE_SHAPES)
    n, tall = op_.num.value, shape.startswith("16x16")
    trans = (0, 1) if shape == "8x8.b16" else (0,) if shape.startswith("8x16") else (1,)
    if n not in ((1, 2) if tall else (1, 2, 4)) or op_.trans.value not in trans:
        raise VerificationError(
            f"{op_.name}: no such instruction", code="OC1480", loc=op_.loc,
            expected=f"num 1, 2{'' if tall else ' or 4'}; trans {' or '.join(map(str, trans))}",
            found=f"num {n}, trans {op_.trans.value}",
        )  # fmt: skip
    if registers.type != VectorType(n * (2 if tall else 1), I32):
        raise VerificationError(
            f"{op_.name}: a register for each matrix, two for 16 x 16", code="OC1481", loc=op_.loc,
            expected=VectorType(n * (2 if tall else 1), I32), found=registers.type,
        )  # fmt: skip
    type = ptr.type
    if isinstance(type, PtrType) and (type.space != "smem" or type.align < 16):
        raise VerificationError(
            f"{op_.name}: rows are in shared memory, aligned to 16 bytes", code="OC1482",
            loc=op_.loc, expected="smem, align<16>", found=type,
        )  # fmt: skip


@op("ptx.ldmatrix", Trait.READS | Trait.CONVERGENT)
class LdMatrixOp(Op):
    """`num` matrices of 8 or 16 rows of 16 bytes; thread 8 i + r (16 i + r) has the address of row
    r of matrix i. Each thread gets two neighbours of each matrix, of a column with `trans`; of
    bytes four, and of 16 x 16 twice as many (PTX ISA, "ldmatrix"). Rows of 4 or 6 bits become
    bytes."""

    ptr = operand(ANY)
    num = attr(IntAttr)
    trans = attr(IntAttr)
    shape = attr(StringAttr)
    out = result(ANY)

    def verify(self) -> None:
        _matrix(self, self.ptr, self.out)


@op("ptx.stmatrix", Trait.WRITES | Trait.CONVERGENT)
class StMatrixOp(Op):
    """Write what ptx.ldmatrix would read (PTX ISA, "stmatrix")."""

    ptr = operand(ANY)
    registers = operand(ANY)
    num = attr(IntAttr)
    trans = attr(IntAttr)
    shape = attr(StringAttr)

    def verify(self) -> None:
        _matrix(self, self.ptr, self.registers)


@op("ptx.mma", Trait.PURE | Trait.CONVERGENT)
class MmaOp(Op):
    """``a * b + c`` on the tile of `atom`, a record of `opencute.arch.mma` (PTX ISA, "mma").

    Products are exact. The sum of products is rounded once or more often to the type of c, in an
    order that the hardware chooses.
    """

    a = operand(ANY)
    b = operand(ANY)
    c = operand(ANY)
    atom = attr(StringAttr)
    out = result(ANY)

    def verify(self) -> None:
        name = self.atom.value
        if name not in MMA_ATOMS or MMA_ATOMS[name].threads == 1:
            raise VerificationError(
                f"ptx.mma: there is no instruction {name!r}", code="OC1483", loc=self.loc
            )
        want = register_types(mma_atom(name))
        found = tuple(v.type for v in self.operands)
        if found != want or self.out.type != want[2]:
            raise VerificationError(
                "ptx.mma: operands do not have the atom's registers", code="OC1484", loc=self.loc,
                expected=", ".join(map(str, want)), found=", ".join(map(str, found)),
            )  # fmt: skip


@op("ptx.mma_sp", Trait.PURE | Trait.CONVERGENT)
class MmaSparseOp(Op):
    """``a * b + c`` on the tile of `atom`, a record of `opencute.arch.sparse`: of each run along k
    half of A's elements are zero, `a` has the others, and `e` (i32) says which those are. The
    metadata of the threads that `selector` names counts (PTX ISA, "mma.sp")."""

    a = operand(ANY)
    b = operand(ANY)
    c = operand(ANY)
    e = operand(ANY)
    atom = attr(StringAttr)
    selector = attr(IntAttr)
    out = result(ANY)

    def verify(self) -> None:
        name = self.atom.value
        if name not in SPARSE_MMA_ATOMS:
            raise VerificationError(
                f"ptx.mma_sp: there is no instruction {name!r}", code="OC1483", loc=self.loc
            )
        atom = sparse_mma_atom(name)
        want = (*register_types(atom), I32)
        found = tuple(v.type for v in self.operands)
        if found != want or self.out.type != want[2]:
            raise VerificationError(
                "ptx.mma_sp: operands do not have the atom's registers", code="OC1484",
                loc=self.loc, expected=", ".join(map(str, want)),
                found=", ".join(map(str, found)),
            )  # fmt: skip
        if not 0 <= self.selector.value < atom.selectors:
            raise VerificationError(
                "ptx.mma_sp: no such selector", code="OC1484", loc=self.loc,
                expected=f"0 to {atom.selectors - 1}", found=self.selector.value,
            )  # fmt: skip


def ldmatrix(ptr: Value, num: int, *, trans: bool = False, shape: str = "8x8.b16") -> OpResult:
    """The thread's registers of `num` matrices."""
    count = 2 * num if shape.startswith("16x16") else num
    return build1("ptx.ldmatrix", (ptr,), VectorType(count, I32), _attrs(num, trans, shape))


def stmatrix(
    ptr: Value, registers: Value, num: int, *, trans: bool = False, shape: str = "8x8.b16"
) -> Op:
    """Write the thread's registers of `num` matrices."""
    return build("ptx.stmatrix", (ptr, registers), (), _attrs(num, trans, shape))


def _attrs(num: int, trans: bool, shape: str) -> dict[str, IntAttr | StringAttr]:
    return {
        "num": IntAttr(num, I64), "trans": IntAttr(int(trans), I64), "shape": StringAttr(shape)
    }  # fmt: skip


def mma(atom: str, a: Value, b: Value, c: Value) -> OpResult:
    """One tensor-core instruction."""
    return build1("ptx.mma", (a, b, c), c.type, {"atom": StringAttr(atom)})


def mma_sparse(atom: str, a: Value, b: Value, c: Value, e: Value, selector: int = 0) -> OpResult:
    """One tensor-core instruction with a sparse A."""
    attrs = {"atom": StringAttr(atom), "selector": IntAttr(selector, I64)}
    return build1("ptx.mma_sp", (a, b, c, e), c.type, attrs)
