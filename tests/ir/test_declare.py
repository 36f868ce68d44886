# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Accessors that follow from a declaration, and traits."""

from __future__ import annotations

import pytest

from opencute.dialects import arith, cute, gpu, llvm, scf
from opencute.ir.attributes import UNIT
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value, register
from opencute.ir.declare import Trait, declaration, declarations, has_trait, traits_of
from opencute.ir.types import F16, I1, I32

pytestmark = pytest.mark.t0
PTR = cute.PtrType(F16, "gmem", 16)


def test_accessors_by_name():
    _, block = new_block((I32, I32))
    with insert_at(block):
        op = arith.binary("addi", *block.args).owner
    decl = declaration("arith.addi")
    assert decl is not None and [s.name for s in decl.operands] == ["lhs", "rhs"]
    assert [getattr(op, s.name) for s in decl.operands] == block.args
    assert getattr(op, decl.results[0].name) is op.result
    assert getattr(type(op), "lhs").name == "lhs"  # noqa: B009 - a slot made in a loop


def test_accessors_of_segments():
    _, block = new_block((PTR, PTR, cute.PtrType(I1, "rmem"), I32, I32))
    src, dst, pred, n, m = block.args
    layout = cute.LayoutAttr((8, 2), (1, cute.Dyn()))
    with insert_at(block):
        whole = cute.copy(
            "universal_copy",
            0,
            cute.Tile(src, layout, (n,)),
            cute.Tile(dst, layout, (m,)),
            cute.Tile(pred, cute.LayoutAttr((2,), (1,))),
        )
        plain = cute.copy(
            "universal_copy", 0, cute.Tile(src, layout, (n,)), cute.Tile(dst, layout, (m,))
        )
    assert isinstance(whole, cute.CopyOp) and isinstance(plain, cute.CopyOp)
    assert (whole.src, whole.dst, whole.pred) == (src, dst, pred)
    assert (whole.src_dyns, whole.dst_dyns, whole.pred_dyns) == ([n], [m], [])
    assert plain.pred is None and plain.dst_dyns == [m]
    assert plain.pred_layout is None and plain.atom.value == "universal_copy"


def test_accessors_of_a_launch():
    _, block = new_block((I32, PTR, llvm.LLVMPointerType()))
    n, p, stream = block.args
    with insert_at(block):
        op = gpu.launch_func("k", (n,) * 3, (n,) * 3, (p, n), stream=stream)
    assert isinstance(op, gpu.LaunchFuncOp)
    assert op.args == [p, n] and op.async_object is stream and op.smem is None
    assert op.cluster_x is None and op.block_z is n and op.kernel.path == ("kernels", "k")


def test_regions_are_read_as_blocks():
    _, block = new_block((I32,))
    (n,) = block.args
    region, body = new_block((I32,))
    with insert_at(body):
        scf.yield_()
    with insert_at(block):
        op = scf.for_(n, n, n, (), region)
    assert isinstance(op, scf.ForOp)
    assert op.body is body and op.inits == [] and op.step is n


def test_traits():
    _, block = new_block((I32,))
    args: list[Value] = list(block.args)
    with insert_at(block):
        pure = llvm.inline_asm("", "", args, (), pure=True)
        effects = llvm.inline_asm("", "", args, ())
    assert effects.attributes["has_side_effects"] is UNIT
    assert traits_of(pure) == Trait.PURE
    assert has_trait(effects, Trait.CONVERGENT) and not has_trait(effects, Trait.PURE)
    assert Trait.WRITES in traits_of(Op("no.such"))


def test_every_class_is_registered_under_its_name():
    for name, decl in declarations().items():
        assert decl.name == name
        assert Op.make(name).name == name and name == type(Op.make(name)).NAME


def test_a_name_is_declared_once():
    with pytest.raises(ValueError, match="declared twice"):
        register("arith.addi")(type("Again", (Op,), {}))
