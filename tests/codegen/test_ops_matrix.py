# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Every matrix instruction is selected by LLVM and taken by ptxas, on the first processor that has
it."""

from __future__ import annotations

import pytest

from codegen.compiling import assemble
from codegen.samples import kernel_module
from opencute.arch.copies import COPY_ATOMS
from opencute.arch.mma import MMA_ATOMS, mma_atom
from opencute.dialects import arith, cute, ptx, ptx_matrix
from opencute.dialects.cute import LayoutAttr, PtrType
from opencute.ir.core import Op, Value
from opencute.ir.types import F16, I32

pytestmark = pytest.mark.t1


def one_mma(names: list[str]) -> Op:
    """A kernel that uses each of some instructions once."""
    pointer = PtrType(I32, "gmem", 16)

    def body(a: Value, c: Value) -> None:
        tid = ptx.sreg("tid.x")
        for name in names:
            vectors = list(ptx_matrix.register_types(mma_atom(name)))
            values: list[Value] = []
            for type in vectors:
                p = cute.recast(a, PtrType(type.element, "gmem", 16))  # type: ignore[attr-defined]
                at = cute.ptr_add(p, arith.binary("muli", tid, arith.constant(8, I32)), 16)
                n = type.length  # type: ignore[attr-defined]
                values.append(cute.tile_load(at, LayoutAttr(n, 1)))
            d = ptx_matrix.mma(name, *values)
            q = cute.recast(c, PtrType(vectors[2].element, "gmem", 16))  # type: ignore[attr-defined]
            at = cute.ptr_add(q, arith.binary("muli", tid, arith.constant(8, I32)), 16)
            cute.tile_store(d, at, LayoutAttr(d.type.length, 1))  # type: ignore[attr-defined]

    return kernel_module("mma", (pointer, pointer), body, 32)


GROUPS = sorted({(r.since, r.types[1]) for r in MMA_ATOMS.values() if r.threads > 1})


@pytest.mark.parametrize(("since", "type"), GROUPS)
def test_mma(since: int, type: str) -> None:
    names = [
        n for n, r in MMA_ATOMS.items() if r.threads > 1 and (r.since, r.types[1]) == (since, type)
    ]
    sm = f"sm_{since}"
    code = assemble(one_mma(names), sm)
    assert code.report.functions[0].stack == 0
    assert code.ptx.count("mma.sync.aligned") == len(names)


def test_matrix_copies() -> None:
    def body(a: Value, c: Value) -> None:
        for name, atom in COPY_ATOMS.items():
            n = atom.matrices
            if name.startswith("ldmatrix"):
                registers = ptx_matrix.ldmatrix(a, n, trans=atom.trans)
                ptx_matrix.stmatrix(c, registers, n, trans=atom.trans)

    pointer = PtrType(F16, "smem", 16)
    module = kernel_module("copies", (pointer, pointer), body, 32)
    code = assemble(module, "sm_90")
    for n in (1, 2, 4):
        for word in ("ldmatrix", "stmatrix"):
            assert f"{word}.sync.aligned.m8n8.x{n}.shared.b16" in code.ptx
            assert f"{word}.sync.aligned.m8n8.x{n}.trans.shared.b16" in code.ptx
