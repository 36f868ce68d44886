# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Every operation of a block, on every kind of target, down to machine code."""

from __future__ import annotations

import pytest

from codegen.compiling import assemble, to_ptx
from codegen.samples import kernel_module
from dialects.samples import SAMPLES, Sample
from opencute.base.errors import CompileError
from opencute.codegen.sass import read_sass
from opencute.dialects import arith, builtin, cute, gpu, ptx, ptx_memory, smem
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir.attributes import TypeAttr
from opencute.ir.builder import insert_at
from opencute.ir.core import Block, Op, Value, op_class
from opencute.ir.types import BF16, F32, I8, I32, FunctionType, VectorType

pytestmark = pytest.mark.t1
_DIALECTS = tuple(f"opencute.dialects.{m}" for m in ("ptx", "ptx_math", "ptx_memory", "ptx_warp"))
NAMES = sorted(
    n for n in SAMPLES if "smem" in n or getattr(op_class(n), "__module__", "") in _DIALECTS
)


def _keep(value: Value, body: Block) -> None:
    """Write a value to memory, so that nothing thinks that it is unused."""
    type = value.type
    if isinstance(type, VectorType):
        out = body.add_argument(cute.PtrType(type.element, "gmem", 16))
        cute.tile_store(value, out, cute.LayoutAttr(type.length, 1))
    elif not isinstance(type, cute.PtrType | LLVMPointerType):
        cute.store(value, body.add_argument(cute.PtrType(type, "gmem", 8)))


def every_operation(skip_bf16: bool) -> Op:
    """A module with a kernel for each sample of each operation."""
    module, top = builtin.module()
    with insert_at(top):
        _, kernels = gpu.gpu_module()
    samples: list[tuple[str, Sample]] = [(n, s) for n in NAMES for s in SAMPLES[n]]
    for i, (name, sample) in enumerate(samples):
        block = Block()
        with insert_at(block):
            sample(block.add_argument)
        atomic = name in ("ptx.atomic", "ptx.red")
        if atomic and skip_bf16 and BF16 in (_element(block.ops[-1].operands[1])):
            continue
        with insert_at(kernels):
            kernel, body = gpu.gpu_func(f"k{i}", ())
        with insert_at(body):
            sample(body.add_argument)
            for op in list(body.ops):
                for result in op.results:
                    _keep(result, body)
            gpu.return_()
        inputs = tuple(a.type for a in body.args)
        kernel.attributes["function_type"] = TypeAttr(FunctionType(inputs, ()))
    return module


def _element(value: Value) -> tuple[object, ...]:
    return (getattr(value.type, "element", value.type),)


# Instructions that must be there, by target.
EXPECTED: dict[str, tuple[str, ...]] = {
    "sm_80": ("REDUX.MIN.S32", "SHFL.BFLY", "LDGSTS.E.ZFILL", "BAR.ARV", "ATOMS.CAS", "MATCH.ALL"),
    "sm_90a": ("ELECT", "ATOMG.E.ADD.BF16x2.RN.STRONG.GPU", "FENCE.VIEW.ASYNC.S"),
    "sm_100a": ("CREDUX.MAX.F32", "FFMA2.RM", "ELECT", "LDGDEPBAR"),
    "sm_120a": ("SHFL.IDX", "FFMA.RM", "NANOSLEEP"),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_operation_becomes_machine_code(name: str):
    code = assemble(every_operation(name == "sm_80"), name)
    opcodes = read_sass(code.cubin).opcodes
    assert [o for o in EXPECTED[name] if o not in opcodes] == []


def test_what_a_target_lacks_is_an_error_that_says_so():
    def body(ptr: Value, value: Value) -> None:
        ptx_memory.red("add", ptr, value, "relaxed", "gpu")

    inputs = (cute.PtrType(BF16, "gmem", 2), BF16)
    to_ptx(kernel_module("k", inputs, body), "sm_90a")
    with pytest.raises(CompileError, match="bfloat16 needs sm_90") as caught:
        to_ptx(kernel_module("k", inputs, body), "sm_80")
    assert caught.value.code == "OC1067"


def test_clusters_are_single_blocks_where_there_are_none():
    def body(out: Value) -> None:
        cute.store(ptx.sreg("clusterid.y"), out)
        after = cute.ptr_add(out, arith.constant(1, I32), 4)
        cute.store(ptx.sreg("cluster_nctarank"), after)

    inputs = (cute.PtrType(I32, "gmem", 4),)
    old = to_ptx(kernel_module("k", inputs, body), "sm_80").ptx
    new = to_ptx(kernel_module("k", inputs, body), "sm_90a").ptx
    assert "%ctaid.y" in old and "cluster" not in old
    assert "%clusterid.y" in new and "%cluster_nctarank" in new


def shared_roundtrip(out: Value) -> None:
    """Four floats per thread to shared memory, a barrier, and those of another thread back."""
    raw = smem.smem_alloc(2048, 4096, 1024)
    base = cute.recast(raw, cute.PtrType(F32, "smem", 1024))
    tid = ptx.sreg("tid.x")
    four = arith.constant(4, I32)
    mine = arith.binary("muli", tid, four)
    layout = cute.LayoutAttr(4, 1)
    values = cute.tile_load(cute.ptr_add(out, mine, 16), layout)
    cute.tile_store(values, cute.ptr_add(base, mine, 16), layout)
    ptx.bar_sync(arith.constant(0, I32))
    other = arith.binary("muli", arith.binary("xori", tid, arith.constant(1, I32)), four)
    back = cute.tile_load(cute.ptr_add(base, other, 16), layout)
    cute.tile_store(back, cute.ptr_add(out, mine, 16), layout)


def test_shared_memory_is_one_external_array_with_wide_accesses():
    module = kernel_module("k", (cute.PtrType(F32, "gmem", 16),), shared_roundtrip)
    code = assemble(module)
    assert ".extern .shared .align 1024 .b8 opencute_smem" in code.ptx
    assert "st.shared.v4.b32" in code.ptx and "ld.shared.v4.b32" in code.ptx
    sass = read_sass(code.cubin)
    assert sass.opcodes["STS.128"] == sass.opcodes["LDS.128"] == 1
    order = [i.split()[0] for i in sass.instructions if i.startswith(("STS", "BAR", "LDS"))]
    assert [o.split(".")[0] for o in order] == ["STS", "BAR", "LDS"]


def test_the_size_of_shared_memory_is_a_register():
    def body(out: Value) -> None:
        cute.store(smem.smem_size(), out)

    code = to_ptx(kernel_module("k", (cute.PtrType(I32, "gmem", 4),), body))
    assert "%dynamic_smem_size" in code.ptx


def test_bytes_are_moved_through_wider_registers():
    def body(src: Value, dst: Value) -> None:
        ptx_memory.store(dst, ptx_memory.load(src, I8, cache="cg"), cache="cs")

    byte = cute.PtrType(I8, "gmem", 1)
    code = assemble(kernel_module("k", (byte, byte), body))
    assert "ld.global.cg.b8" in code.ptx and "st.global.cs.b8" in code.ptx
