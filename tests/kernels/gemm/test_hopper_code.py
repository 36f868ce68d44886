# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of Hopper's products: registers, spills, advice of ptxas, main loops."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import MissingPieceError
from opencute.base.knobs import KNOBS
from opencute.codegen.sass import read_sass
from opencute.codegen.toolchain import find_disassembler
from opencute.cute.runtime import from_dlpack
from opencute.jit.calls import compiled_artefacts
from opencute.kernels.gemm import HopperConfig, visitors
from opencute.kernels.gemm.activations import gelu
from opencute.kernels.gemm.sm90 import hopper_gemm
from opencute.kernels.gemm.sm90_plan import HopperPlan

pytestmark = pytest.mark.t1

HALF, E4 = cutlass.Float16, cutlass.Float8E4M3FN
LARGE = HopperConfig((128, 256), (2, 1))
TURNS = HopperConfig((64, 256), pingpong=True)
TYPES: dict[Any, Any] = {
    HALF: np.float16, E4: ml_dtypes.float8_e4m3fn, cutlass.TFloat32: np.float32,
    cutlass.Float32: np.float32, cutlass.Int8: np.int8, cutlass.Int32: np.int32,
}  # fmt: skip


def tensor(x: Any, leading: int = 2) -> Any:
    return from_dlpack(x).mark_layout_dynamic(leading_dim=leading)


def compiled(
    config: HopperConfig, types: Any = (HALF, HALF, HALF), *, k_major: bool = True,
    visitor: Any = None, extra: Any = (), aux: Any = (),
) -> Any:  # fmt: skip
    a, b, d = (np.zeros((1, 256, 256), TYPES[t]) for t in types)
    lead = 2 if k_major else 1
    if not k_major:
        a, b = a.swapaxes(1, 2), b.swapaxes(1, 2)
    plan = HopperPlan(
        config.check(), types, (k_major, k_major), visitor or visitors.chain().plan(), aux,
        (False, False), 66, 232448,
    )  # fmt: skip
    with KNOBS.override(target="sim:sm_90a"):
        cute.compile(hopper_gemm, tensor(a, lead), tensor(b, lead), tensor(d), extra, plan)
    return compiled_artefacts()[-1].device


def check(code: Any) -> None:
    (report,) = code.report.functions
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
    assert report.registers == 168  # at the start; setmaxnreg shares them out
    assert not code.report.diagnostics  # none of C75xx: products are not serialised
    assert "setmaxnreg.dec" in code.ptx and "setmaxnreg.inc" in code.ptx


CASES: dict[str, tuple[HopperConfig, Any, bool]] = {
    "columns": (LARGE, (HALF, HALF, HALF), False),
    "tf32": (LARGE, (cutlass.TFloat32, cutlass.TFloat32, cutlass.Float32), True),
    "i8": (LARGE, (cutlass.Int8, cutlass.Int8, cutlass.Int32), True),
    "f8 in two levels": (HopperConfig((128, 128), twice=True), (E4, E4, HALF), True),
    "f8 in two, wide": (HopperConfig((128, 192), (2, 1), twice=True), (E4, E4, HALF), True),
    "two instructions high": (HopperConfig((256, 128), (1, 2)), (HALF, HALF, HALF), True),
    "176 sums": (HopperConfig((256, 176), (1, 2), group=16), (HALF, HALF, HALF), True),
}


@pytest.mark.parametrize("case", list(CASES))
def test_no_spills(case: str) -> None:
    config, types, k_major = CASES[case]
    check(compiled(config, types, k_major=k_major))


@pytest.mark.parametrize("config", [LARGE, TURNS], ids=["cooperative", "turns"])
def test_no_spills_with_bias_gelu_and_residual(config: HopperConfig) -> None:
    r = np.zeros((1, 256, 256), np.float16)
    v = from_dlpack(np.zeros(256, np.float16)).mark_layout_dynamic()
    plan = visitors.chain(visitors.add_columns(v), visitors.apply(gelu), visitors.add(r)).plan()
    code = compiled(config, visitor=plan, extra=(v, tensor(r)), aux=(HALF,))
    check(code)
    assert "ld.local" not in code.ptx and "cp.async.bulk.tensor" in code.ptx


@pytest.mark.parametrize("config", [LARGE, TURNS], ids=["cooperative", "turns"])
def test_the_main_loop(config: HopperConfig) -> None:
    try:
        find_disassembler()
    except MissingPieceError:
        pytest.skip("no disassembler")
    code = compiled(config)
    check(code)
    loop = main_loop(read_sass(code.cubin).text)
    assert sum("HGMMA.64x256x16.F32" in line for line in loop) == 4
    assert len(loop) <= 52
    for word in ("R2UR", "MEMBAR", "LDL", "STL", "WARPSYNC"):
        assert not any(word in line for line in loop), word
    # What ordinary registers do: the phase, the address of a barrier, the count of turns.
    assert sum(re.search(r"\b(MOV|IMAD\.MOV)", line) is not None for line in loop) <= 3


def main_loop(text: str) -> list[str]:
    """Instructions of the innermost loop that multiplies."""
    places: dict[str, int] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if label := re.match(r"\s*\.?(L\w+):", line.replace(".L_", "L_")):
            places[label[1]] = len(lines)
        elif found := re.search(r"/\*[0-9a-f]{4,}\*/\s+(\S.*?);", line):
            lines.append(found[1])
    spans: list[tuple[int, int]] = []
    for i, line in enumerate(lines):
        target = re.search(r"BRA.*?L_(\w+)", line)
        start = places.get(f"L_{target[1]}", i) if target else i
        if start < i and any("HGMMA" in x for x in lines[start:i]):
            spans.append((start, i + 1))
    # A wait that goes on elsewhere comes back by a longer way.
    # Products that are seldom run have a loop with one of them.
    several = [s for s in spans if sum("HGMMA" in x for x in lines[slice(*s)]) > 1]
    start, end = min(several, key=lambda span: span[1] - span[0])
    return lines[start:end]
