# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of grouped products: spills, advice of ptxas, what makes tensor maps."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.jit.calls import compiled_artefacts
from opencute.kernels.gemm import visitors
from opencute.kernels.gemm.activations import silu
from opencute.kernels.gemm.sm90_plan import HopperPlan
from opencute.kernels.grouped_gemm import GroupedConfig
from opencute.kernels.grouped_gemm.config import search_space
from opencute.kernels.grouped_gemm.sm90 import DRAFTS, list_gemm, map_slots, row_gemm, sum_gemm

pytestmark = pytest.mark.t1

HALF = cutlass.Float16


def tensor(*shape: int, dtype: Any = np.float16) -> Any:
    x = from_dlpack(np.zeros(shape, dtype))
    return x.mark_layout_dynamic(leading_dim=len(shape) - 1)


def compiled(form: str, tile: tuple[int, int] = (128, 256), visitor: Any = None) -> Any:
    launch(form, GroupedConfig(tile), visitor)
    return compiled_artefacts()[-1].device


def launch(
    form: str, config: GroupedConfig, visitor: Any = None, along: bool | None = None
) -> None:
    """Compile a kernel.

    Args:
        along: whether B is contiguous along k; None: where groups are rows.
    """
    visitor = visitor or visitors.chain()
    operands = [(o.kind, o.value) for o in visitor.operands.values()]
    aux = tuple(HALF for kind, _ in operands if kind in ("load", "store"))
    along = form == "rows" if along is None else along
    kind = cutlass.Float8E4M3FN if config.twice else HALF
    plan = HopperPlan(
        config.check().hopper, (kind, kind, HALF), (form == "rows", along),
        visitor.plan(), aux, (False, False), 132, 232448 - DRAFTS,
    )  # fmt: skip
    room = from_dlpack(np.zeros((132, map_slots(plan), 16), np.int64), assumed_align=16)
    columns = 128 if visitor.gated else 256
    of = ml_dtypes.float8_e4m3fn if config.twice else np.float16
    d = tensor(1, 256, columns)
    a, b = tensor(1, 256, 64, dtype=of), tensor(3, 256, 64, dtype=of)
    turned, across = (
        from_dlpack(np.zeros((n, 64, 256), of).swapaxes(1, 2)).mark_layout_dynamic(leading_dim=1)
        for n in (1, 3)
    )
    extra = tuple(
        cutlass.Float32(x) if kind == "scalar" else tensor(*x, dtype=np.float16 if len(x) > 2
                                                           else np.float32)
        for kind, x in operands
    ) or None  # fmt: skip
    ends = tensor(3, dtype=np.int32)
    with KNOBS.override(target="sim:sm_90a"):
        if form == "lists":
            table = tensor(3, 9, dtype=np.int64)
            right = a if along else turned
            cute.compile(list_gemm, turned, right, d, table, 6, extra, room, None, (), plan)
        elif form == "rows":
            cute.compile(row_gemm, a, b if along else across, d, ends, extra, plan)
        else:
            d = tensor(3, 256, 256)
            cute.compile(sum_gemm, turned, turned, d, ends, extra, room, plan)


def check(code: Any, maps: int) -> None:
    (report,) = code.report.functions
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
    assert report.registers == 168  # at the start; setmaxnreg shares them out
    assert not code.report.diagnostics  # none of C75xx: products are not serialised
    assert code.ptx.count("wgmma.mma_async")
    assert code.ptx.count("tensormap.cp_fenceproxy") == maps
    assert code.ptx.count("fence.proxy.tensormap::generic.acquire.gpu") == maps


@pytest.mark.parametrize(("form", "maps"), [("rows", 0), ("lists", 3), ("sums", 2)])
def test_neither_spills_nor_waits_of_ptxas(form: str, maps: int) -> None:
    code = compiled(form)
    check(code, maps)
    # What is left of a group is stored 16 bytes at a time.
    assert ("st.global.v4" in code.ptx) == (form == "rows")


VISITORS: dict[str, Any] = {
    "bias and function": visitors.chain(
        visitors.add_columns((3, 256)), visitors.scale_rows((256,)), visitors.apply(silu)
    ),
    "gate": visitors.chain(visitors.add_columns((3, 256)), gated=silu),
    "residual and what is kept": visitors.chain(
        visitors.keep((1, 256, 256)), visitors.add((1, 256, 256))
    ),
}


@pytest.mark.parametrize("visitor", list(VISITORS))
def test_visitors_do_not_spill(visitor: str) -> None:
    code = compiled("rows", (128, 192), VISITORS[visitor])
    check(code, 0)
    assert "div." not in code.ptx.replace("div.u32", "").replace("div.s32", "")  # of floats


@pytest.mark.parametrize("config", [*search_space(), *search_space(twice=True)], ids=str)
def test_every_configuration_compiles(config: GroupedConfig) -> None:
    launch("rows", config, visitors.chain(gated=silu), config.twice)  # of 8 bits: along k only
    if config.promote == 128 and config.once == 0:  # others differ in nothing that is laid out
        launch("rows", config)
    if config == GroupedConfig(config.tile, beside=config.beside):
        launch("lists", config)
        launch("sums", config)


def test_halves_of_narrower_swizzles_do_not_spill() -> None:
    launch("rows", GroupedConfig((64, 192), beside=True), None, False)
    check(compiled_artefacts()[-1].device, 0)
