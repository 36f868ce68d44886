# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What kernels cost: widths and lines of accesses, spills, and ptxas's advice as warnings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from codegen.compiling import assemble
from codegen.hopper.test_rolled import pipeline
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.base.location import Location
from opencute.base.log import PerformanceWarning
from opencute.codegen.debug.advisories import advisories
from opencute.codegen.debug.explain import explain, lined_instructions, parse_lined
from opencute.codegen.ptxas import parse_report
from opencute.codegen.toolchain import find_disassembler
from opencute.cute.runtime import from_dlpack
from opencute.dialects import builtin, gpu
from opencute.ir.builder import at_loc, insert_at

pytestmark = pytest.mark.t1


@cute.kernel
def _copy(a: cute.Tensor, o: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    tile = cute.zipped_divide(a, (4,))
    out = cute.zipped_divide(o, (4,))
    out[(None, i)].store(tile[(None, i)].load() + 1)  # wide


@cute.kernel
def _crowded(a: cute.Tensor, o: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    values = [a[i + 32 * k] for k in cutlass.range_constexpr(48)]
    total = values[0]
    for k in cutlass.range_constexpr(48):
        for j in cutlass.range_constexpr(48):
            total = total * values[j] + values[(j * 7 + k) % 48]
    o[i] = total


@cute.jit
def _run_copy(a: cute.Tensor, o: cute.Tensor):
    _copy(a, o).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.jit
def _run_crowded(a: cute.Tensor, o: cute.Tensor):
    _crowded(a, o).launch(grid=(1, 1, 1), block=(256, 1, 1), min_blocks_per_mp=8)


def _compile(fn: Any, n: int, *options: Any) -> Any:
    x = np.zeros(n, np.float32)
    with KNOBS.override(target="sim"):
        return cute.compile[(cute.GPUArch("sm_90a"), *options)](
            fn, from_dlpack(x), from_dlpack(x.copy())
        )


def test_accesses_have_widths_and_lines() -> None:
    find_disassembler()
    compiled = _compile(_run_copy, 128)
    (facts,) = compiled.artefacts.explain()
    lines = Path(__file__).read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.endswith("# wide"))
    assert dict(facts.accesses) == {
        ("global load", 128, ((__file__, line),)): 1,
        ("global store", 128, ((__file__, line),)): 1,
    }
    assert facts.local == 0
    assert re.search(rf"global load +128 bits +1 x +{re.escape(__file__)}:{line}", facts.text())
    assert "no spills" in facts.text()


def test_kernel_info() -> None:
    info = _compile(_run_copy, 128).kernel_info
    (name,) = info
    assert name == "_copy_0"
    assert 4 <= info[name].registers <= 32 and info[name].spill_stores == 0


def test_spills_are_warned_about_with_the_kernels_line() -> None:
    compiled = _compile(_run_crowded, 48 * 32)
    with pytest.warns(PerformanceWarning, match=r"_crowded_0: registers do not suffice") as seen:
        assert compiled.kernel_info["_crowded_0"].spill_stores > 0
    assert __file__ in str(seen[0].message) and seen[0].filename == __file__
    with KNOBS.override(advisories=False):  # pytest makes any warning an error
        again = _compile(_run_crowded, 48 * 32, cute.OptLevel(2))
        assert again.kernel_info["_crowded_0"].registers <= 32


def test_serialised_matrix_instructions_are_found() -> None:
    module, top = builtin.module()
    with insert_at(top):
        _, kernels = gpu.gpu_module()
    with insert_at(kernels), at_loc(Location("k.py", 7, 0)):
        gpu.gpu_func("gemm_0", [])
    log = (
        "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
        "serialized due to insufficient register resources in function 'gemm_0'\n"
        "ptxas info    : Compiling entry function 'gemm_0' for 'sm_90a'\n"
        "ptxas info    : Used 40 registers\n"
    )
    (found,) = advisories(parse_report(log), module)
    assert found.kernel == "gemm_0" and "serialized" in found.message
    assert found.loc is not None and found.loc.line == 7


def test_disassembly_is_read() -> None:
    text = """.text.k_0:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
    //## File "h.py", line 9 inlined at "k.py", line 15
    //## File "k.py", line 15
        /*0020*/              @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0030*/                   NOP;
"""
    first, load = parse_lined(text)
    assert (first.kernel, first.places) == ("k_0", ())
    assert load.opcode == "LDG.E.128" and load.places == (("h.py", 9), ("k.py", 15))


def test_instructions_that_never_happen_are_left_out() -> None:
    """ptxas puts some before asynchronous copies."""
    text = """.text.k:
        /*0010*/              @!PT LDS RZ, [RZ] ;
        /*0020*/                   LDGSTS.E.BYPASS.128 [R60], desc[UR4][R64.64] ;
        /*0030*/              @!P0 LDS R1, [R2] ;
"""
    assert [i.opcode for i in parse_lined(text)] == ["LDGSTS.E.BYPASS.128", "LDS"]


def test_instructions_that_only_end_a_group_are_no_products() -> None:
    code = parse_lined(
        "\t.section .text.k,...\n.text.k:\n"
        "  /*0260*/  HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0 ;\n"
        "  /*0270*/  @P0 HGMMA.64x128x16.F32 R24, gdesc[UR8], RZ, !UPT ;\n"
        "  /*0280*/  HGMMA.64x128x16.F32 R24, gdesc[UR8], R24, gsb0 ;\n"
        "  /*0290*/  HMMA.16816.F32 R4, R8, R12, RZ ;\n"
        "  /*02a0*/  FADD R1, R2, RZ ;\n"
    )
    assert [i.is_product for i in code] == [False, True, True, True, False]


def test_products_that_ptxas_adds_are_not_counted() -> None:
    find_disassembler()
    code = assemble(pipeline(True))
    facts = explain(code.cubin, code.report)[0]
    assert facts.products.total() % 4 == 1  # as test_rolled says
    assert all(".64x64x16." in opcode for opcode, _ in facts.products)
    everything = lined_instructions(code.cubin)
    assert any(i.opcode.startswith("HGMMA") and not i.is_product for i in everything)


@cute.kernel
def _product(a: cute.Tensor, o: cute.Tensor):
    lane = cute.arch.thread_idx()[0]
    memory = cutlass.utils.SmemAllocator()
    tile = memory.allocate_tensor(cutlass.Float16, cute.make_layout((16, 16), stride=(16, 1)), 16)
    for i in cutlass.range(lane, 256, 32):
        tile[i // 16, i % 16] = a[i]
    cute.arch.sync_warp()
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op)
    part = mma.get_slice(lane)
    left, right = part.partition_A(tile), part.partition_B(tile)
    out = part.partition_C(cute.make_tensor(o.iterator, cute.make_layout((16, 16))))
    held = mma.make_fragment_A(left), mma.make_fragment_B(right), mma.make_fragment_C(out)
    held[2].fill(0.0)
    cute.autovec_copy(left, held[0])  # of A
    cute.autovec_copy(right, held[1])  # of B
    cute.gemm(mma, held[2], held[0], held[1], held[2])
    cute.autovec_copy(held[2], out)


@cute.jit
def _run_product(a: cute.Tensor, o: cute.Tensor):
    _product(a, o).launch(grid=(1, 1, 1), block=(32, 1, 1))


def test_loads_of_operands_are_on_the_line_of_their_copy() -> None:
    """LLVM makes one load of a load and the bitcast that a product begins with."""
    find_disassembler()
    with KNOBS.override(target="sim"):
        compiled = cute.compile[cute.GPUArch("sm_90a")](
            _run_product, from_dlpack(np.zeros(256, np.float16)),
            from_dlpack(np.zeros(256, np.float32)),
        )  # fmt: skip
    (facts,) = compiled.artefacts.explain()
    lines = Path(__file__).read_text().splitlines()
    of = {x: next(n for n, t in enumerate(lines, 1) if t.endswith(f"# of {x}")) for x in "AB"}
    loads = {k[1:] for k in facts.accesses if k[0] == "shared load"}
    assert loads == {(32, ((__file__, of[x]),)) for x in "AB"}
