# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Code of the products for every processor: registers, spills, instructions of main loops."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.arch.target import target
from opencute.base.errors import MissingPieceError
from opencute.base.knobs import KNOBS
from opencute.codegen.sass import read_sass
from opencute.codegen.toolchain import find_disassembler
from opencute.cute.runtime import from_dlpack
from opencute.jit.calls import compiled_artefacts
from opencute.kernels.gemm.config import GemmConfig, Problem, heuristic
from opencute.kernels.gemm.sm80 import TensorCorePlan, tensor_core_gemm
from opencute.kernels.gemm.sm80_simt import SimtPlan, sgemm

pytestmark = pytest.mark.t1
ARCHS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
# kind: class on tensor cores, types in memory of operands and results, vector, instruction.
KINDS: dict[str, Any] = {
    "f32": (None, np.float32, np.float32, 4, "fma.rn.f32"),
    "f16": (cutlass.Float16, np.float16, np.float16, 8, "mma.sync.aligned.m16n8k16"),
    "tf32": (cutlass.TFloat32, np.float32, np.float32, 4, "mma.sync.aligned.m16n8k8"),
    "i8": (cutlass.Int8, np.int8, np.int32, 16, "mma.sync.aligned.m16n8k32"),
}


def config_for(kind: str, arch: str, narrow: bool = False, k: int = 4096) -> GemmConfig:
    bits = 8 * np.dtype(KINDS[kind][2]).itemsize
    return heuristic(Problem(4096, 4096, k, 1, kind, bits, narrow), target(arch).max_smem)


@cache
def compiled(
    kind: str, arch: str, *, even: bool = True, k_major: tuple[bool, bool] = (True, False),
    config: GemmConfig | None = None, epilogue: bool = False, vec: int | None = None,
    overlap: bool = False,
) -> Any:  # fmt: skip
    dtype, memory, result, most, _ = KINDS[kind]
    vec = most if vec is None else vec
    config = config_for(kind, arch) if config is None else config
    a, b = (
        np.zeros((1, 256, 256), memory) if major
        else np.zeros((1, 256, 256), memory).swapaxes(1, 2) for major in k_major
    )  # fmt: skip
    d = np.zeros((1, 256, 256), result)
    leads = [2 if major else 1 for major in k_major]
    args = [
        from_dlpack(x).mark_layout_dynamic(leading_dim=i)
        for x, i in zip((a, b), leads, strict=True)
    ]
    out = from_dlpack(d).mark_layout_dynamic(leading_dim=2)
    bias = np.zeros(256, result) if epilogue else None
    common: Any = {
        "tile": config.tile, "warps": config.warps, "stages": config.stages, "group": 8,
        "k_major": k_major, "even": even, "scaled": epilogue, "level": config.level,
    }  # fmt: skip
    if dtype is None:
        vecs = tuple(1 if major else vec for major in k_major)
        launch, plan = sgemm, SimtPlan(vec=(*vecs, vec), **common)
    else:
        out_vec = min(vec, 16 // np.dtype(result).itemsize)
        launch = tensor_core_gemm
        order = {name: getattr(config, name) for name in ("ahead", "gap", "turning", "together")}
        plan = TensorCorePlan(
            dtype=dtype, vec=(vec, vec, out_vec), overlap=overlap, **order, **common
        )  # fmt: skip
    added = out if epilogue else None
    with KNOBS.override(target=f"sim:{arch}"):
        cute.compile(launch, *args, added, bias, added, out, 1.0, 0.0, plan)
    return compiled_artefacts()[-1].device


def check_budget(code: Any, threads: int) -> None:
    (report,) = code.report.functions
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
    assert report.registers <= min(255, 65536 // threads)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("kind", list(KINDS))
def test_default_configurations_have_no_spills(kind: str, arch: str) -> None:
    code = compiled(kind, arch, k_major=(True, kind == "i8"))
    warps = config_for(kind, arch).warps
    check_budget(code, 32 * warps[0] * warps[1])
    assert KINDS[kind][4] in code.ptx and "cp.async.cg" in code.ptx


# Kind, elements moved at once, whether registers are scarce.
RAGGED = [("f32", 4, False), ("f16", 8, False), ("f16", 1, True), ("tf32", 4, True),
          ("i8", 16, False), ("i8", 1, True)]  # fmt: skip


@pytest.mark.parametrize("case", RAGGED, ids=str)
def test_ragged_products_with_a_whole_epilogue_have_no_spills(case: tuple[str, int, bool]) -> None:
    kind, vec, narrow = case
    config = config_for(kind, "sm_90a", narrow, 4104)
    code = compiled(
        kind, "sm_90a", even=False, epilogue=True, k_major=(True, kind == "i8"), config=config,
        vec=vec,
    )  # fmt: skip
    check_budget(code, 32 * config.warps[0] * config.warps[1])


@pytest.fixture
def disassembler() -> None:
    try:
        find_disassembler()
    except MissingPieceError:
        pytest.skip("no disassembler")


WRITTEN = GemmConfig((192, 256, 64), (2, 4), 3, ahead=6, gap=4, turning=False, together=2)


@pytest.mark.parametrize("k_major", [(True, True), (False, False)], ids=str)
@pytest.mark.parametrize("epilogue", [False, True])
def test_the_largest_tiles_have_no_spills(k_major: tuple[bool, bool], epilogue: bool) -> None:
    check_budget(
        compiled(
            "f16", "sm_90a", k_major=k_major, config=WRITTEN, epilogue=epilogue, overlap=epilogue
        ),
        256,
    )  # fmt: skip


def main_loop(sass: Any, opcode: str) -> list[str]:
    """The instructions of the loop that has most of a kind."""
    lines: list[str] = []
    labels: dict[str, int] = {}
    loops: list[list[str]] = []
    for line in sass.text.splitlines():
        if found := re.match(r"\s*(\.L_x_\d+):", line):
            labels[found[1]] = len(lines)
        elif found := re.search(r"/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+ +)?([A-Z][^;]*);", line):
            lines.append(found[2])
            back = re.match(r"BRA.*`\((\.L_x_\d+)\)", found[2])
            if back and labels.get(back[1], len(lines)) < len(lines):
                loops.append(lines[labels[back[1]] :])
    return max(loops, key=lambda body: sum(line.startswith(opcode) for line in body))


def registers(text: str, count: int) -> set[int]:
    """The registers of an operand that starts with the named one."""
    found = re.match(r" *R(\d+)", text)
    return set(range(int(found[1]), int(found[1]) + count)) if found else set()


def distances(body: list[str]) -> list[int]:
    """Products between a read of a fragment and the first product that needs it."""
    made: dict[int, int] = {}  # register to the number of products before it was read
    found: list[int] = []
    products = 0
    for line in body * 2:  # a loop's fragments may be read in the turn before
        opcode, _, operands = line.partition(" ")
        args = operands.split(",")
        if opcode.startswith("LDSM"):
            made |= dict.fromkeys(registers(args[0], 4), products)
        elif opcode.startswith("HMMA"):
            used = registers(args[1], 4) | registers(args[2], 2)
            found += [products - made.pop(r) for r in used if r in made]
            products += 1
    return found


@pytest.mark.usefixtures("disassembler")
def test_the_instructions_of_the_largest_tiles() -> None:
    sass = read_sass(compiled("f16", "sm_90a", config=WRITTEN).cubin)
    body = main_loop(sass, "HMMA")
    count = {op: sum(x.startswith(op) for x in body) for op in ("HMMA", "LDSM", "LDGSTS", "BAR")}
    assert count == {"HMMA": 192, "LDSM": 40, "LDGSTS": 14, "BAR": 1}
    assert len(body) < 400  # two for each product, with all that is not counted above
    assert min(distances(body)) >= 3  # no product waits for what was just read
    assert not sass.local_memory


@pytest.mark.usefixtures("disassembler")
def test_the_instructions_of_smaller_tiles() -> None:
    config = GemmConfig((256, 128, 64), (4, 2), 3)
    sass = read_sass(compiled("f16", "sm_90a", config=config).cubin)
    assert not sass.local_memory
    assert sass.count("HMMA.16816.F32") == 128  # of one trip of the loop: a warp has 64x64x64
    assert sass.count("LDSM") == 32 + 8  # eight for each step of k, one step ahead of the loop
    assert sass.count("LDGSTS.E.BYPASS.LTC128B.128") == 3 * 12
    assert sass.count("STG.E.128") == 16 and not sass.count("STG.E.64")


@pytest.mark.usefixtures("disassembler")
def test_the_instructions_of_the_fma_kernel() -> None:
    config = GemmConfig((128, 128, 8), (4, 2), 4, level=1)
    sass = read_sass(compiled("f32", "sm_90a", config=config).cubin)
    assert not sass.local_memory
    assert sass.count("FFMA") == 8 * 64
    assert sass.count("LDS.128") == 9 * 4
    assert sass.count("STG.E.128") == 16


@pytest.mark.usefixtures("disassembler")
def test_most_instructions_of_the_fma_kernel_are_fma() -> None:
    config = GemmConfig((128, 256, 8), (4, 2), 4, interleaved=False, level=1)
    body = main_loop(read_sass(compiled("f32", "sm_90a", config=config).cubin), "FFMA")
    assert sum(x.startswith("FFMA") for x in body) == 1024
    assert len(body) < 1024 / 0.9
    # What is read for the next tile has most of a step to arrive.
    barrier = next(i for i, x in enumerate(body) if x.startswith("BAR"))
    last = max(i for i, x in enumerate(body) if x.startswith("LDS.128"))
    assert barrier < last < len(body) - 64
