# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the reference says of where functions are for is what calls outside of compiled code do."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import cutlass
from cutlass import cute, pipeline, utils
from meta.project import ROOT
from opencute.base.errors import LanguageError
from opencute.tools.reference.names import all_names, names
from opencute.tools.reference.where import ANYWHERE, COMPILED, KERNELS, PYTHON, where_of

pytestmark = pytest.mark.t1

f32, f16 = cutlass.Float32, cutlass.Float16
warp, warpgroup = cute.nvgpu.warp, cute.nvgpu.warpgroup
hopper = utils.hopper_helpers
MODE = warpgroup.OperandMajorMode.K
ROWS = utils.LayoutEnum.ROW_MAJOR


def atom():
    return cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), f32)


# A call for each module whose functions are said to work everywhere.
OUTSIDE = {
    "opencute.lang.algebra": lambda: cute.logical_divide(cute.make_layout(8), 2),
    "opencute.lang.hints": lambda: cutlass.const_expr(3),
    "opencute.lang.hopper.image_masks": lambda: cute.make_layout_image_mask(
        cute.make_layout((2, 2)), (0, 0), 0
    ),
    "opencute.lang.hopper.operations": lambda: warpgroup.MmaF16BF16Op(f16, f32, (64, 64, 16)),
    "opencute.lang.hopper.smem_layouts": lambda: warpgroup.make_smem_layout_atom(
        warpgroup.SmemLayoutAtomKind.K_SW128, f16
    ),
    "opencute.lang.hopper.sparse": lambda: warpgroup.MmaSparseOp(f16, f32, (64, 64, 32)),
    "opencute.lang.mathfns": lambda: cute.math.exp2(3.0),
    "opencute.lang.numbers": lambda: cutlass.as_numeric(3),
    "opencute.lang.tiled.atoms": atom,
    "opencute.lang.tiled.copying": lambda: cute.make_tiled_copy_tv(
        atom(), cute.make_layout((4, 8)), cute.make_layout((2, 2))
    ),
    "opencute.lang.tiled.multiplying": lambda: cute.make_tiled_mma(
        warp.MmaF16BF16Op(f16, f32, (16, 8, 16)), (2, 2, 1)
    ),
    "opencute.lang.tiled.operations": lambda: warp.LdMatrix8x8x16bOp(False, 4),
    "opencute.lang.tiled.sparse": lambda: warp.MmaSparseOp(f16, f32, (16, 8, 32)),
    "opencute.layout": lambda: cute.make_identity_layout((4, 8)),
    "opencute.lib.hopper.operations": lambda: hopper.make_trivial_tiled_mma(
        f16, f16, MODE, MODE, f32, (1, 1, 1), (64, 64)
    ),
    "opencute.lib.hopper.smem_layouts": lambda: hopper.make_smem_layout_a(
        ROWS, (64, 64, 64), f16, 2
    ),
    "opencute.lib.latex": lambda: utils.print_latex(cute.make_layout((2, 2))),
    "opencute.lib.layout_enum": lambda: ROWS.is_m_major_a(),
}  # fmt: skip

prims = cutlass.experimental.primitives
# Likewise for those that need a function under @cute.jit or a kernel.
INSIDE = {
    "opencute.lang.arch": lambda: cute.arch.thread_idx(),
    "opencute.lang.asm.inline": lambda: cute.arch.inline_ptx("mov.b32 $0, 1;", results=f32),
    "opencute.lang.block.access": lambda: cute.arch.cp_async_commit_group(),
    "opencute.lang.block.arithmetic": lambda: cute.arch.fmax(1.0, 2.0),
    "opencute.lang.block.barriers": lambda: cute.arch.sync_threads(),
    "opencute.lang.block.registers": lambda: cute.arch.clock(),
    "opencute.lang.block.smem": lambda: cute.arch.dynamic_smem_size(),
    "opencute.lang.block.warps": lambda: cute.arch.activemask(),
    "opencute.lang.fills": lambda: cute.full((4,), 1.0),
    "opencute.lang.hopper.clusters": lambda: cute.arch.cluster_sync(),
    "opencute.lang.hopper.mbarriers": lambda: cute.arch.mbarrier_init_fence(),
    "opencute.lang.hopper.wgmma": lambda: warpgroup.fence(),
    "opencute.lang.printing": lambda: cute.printf("x"),
    "opencute.lang.tensors": lambda: cute.make_rmem_tensor((4,), f32),
    "opencute.lib.named_barrier": lambda: pipeline.sync(),
    "opencute.lib.pipelines.barriers": lambda: pipeline.agent_sync(pipeline.Agent.ThreadBlock),
    "opencute.lib.primitives.barriers": lambda: prims.barrier_cta_sync(),
    "opencute.lib.primitives.bulk": lambda: prims.cp_async_bulk_commit_group(),
    "opencute.lib.primitives.values": lambda: prims.cp_async_commit_group(),
}


@pytest.mark.parametrize("module", OUTSIDE)
def test_works_outside(module: str) -> None:
    assert where_of(module) == ANYWHERE
    OUTSIDE[module]()


@pytest.mark.parametrize("module", INSIDE)
def test_needs_compiled_code(module: str) -> None:
    assert where_of(module) in (KERNELS, COMPILED)
    with pytest.raises(LanguageError) as e:
        INSIDE[module]()
    assert e.value.code in ("OC1137", "OC1138")


def test_every_module_that_works_outside_is_tried() -> None:
    homes = {getattr(n.thing, "__module__", n.home) for n in names().values()}
    said = {h for h in homes if where_of(h) == ANYWHERE}
    assert {h for h in said if not any(h == m or h.startswith(m + ".") for m in OUTSIDE)} == set()


def test_functions_without_arguments() -> None:
    """Of those that need no argument, kernels' and compiled code's raise outside of it."""
    tried = 0
    for name in names().values():
        thing, home = name.thing, getattr(name.thing, "__module__", name.home)
        if not inspect.isfunction(thing) or where_of(home) not in (KERNELS, COMPILED):
            continue
        needs = [
            p for p in inspect.signature(thing).parameters.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]  # fmt: skip
        if needs or name.last in ("pipeline_init_wait", "and_", "or_", "barrier_arrive",
                                  "barrier_cta_arrive"):  # fmt: skip
            continue
        with pytest.raises(LanguageError):
            thing()
        tried += 1
    assert tried > 50


def kernels_of(path: Path) -> list[ast.FunctionDef]:
    """The functions of a file that are decorated as kernels."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    return [f for f in functions if any("kernel" in ast.unparse(d) for d in f.decorator_list)]


def test_what_programs_use_is_not_in_kernels() -> None:
    """Our kernels use nothing that is said to be for programs."""
    folders = ("src/opencute/kernels", "examples")
    kernels = [k for f in folders for p in (ROOT / f).rglob("*.py") for k in kernels_of(p)]
    assert len(kernels) > 20
    seen = 0
    for kernel in kernels:
        for node in ast.walk(kernel):
            spelt = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            name = all_names().get(f"cutlass.{spelt}") or all_names().get(spelt)
            if name is not None:
                seen += 1
                home = getattr(name.thing, "__module__", name.home)
                assert where_of(home) != PYTHON, f"{kernel.name}: {spelt}"
    assert seen > 100
