# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Every operation of Hopper is accepted by ptxas, and refused for older processors."""

from __future__ import annotations

import pytest

from codegen.compiling import assemble, to_ptx
from dialects.samples import modules, together
from opencute import dialects
from opencute.base.errors import CompileError
from opencute.dialects import cute
from opencute.dialects.cute import PtrType
from opencute.dialects.hopper import cluster, mbarrier
from opencute.ir.core import Value
from opencute.ir.declare import declarations
from opencute.ir.types import I32, I64
from sim.building import add, const, kernel_module, ptr

pytestmark = pytest.mark.t1
assert dialects.__all__
_PURE = ("ptx.mbarrier_pending_count",)  # nobody uses its result in a sample
_HERE = (
    "ptx.mbarrier", "ptx.cluster", "ptx.cp_async_mbarrier", "ptx.setmaxnreg", "ptx.griddep",
    "ptx.st_async", "ptx.red_async", "ptx.fence_mbarrier",
)  # fmt: skip
NAMES = sorted(n for n in declarations() if n.startswith(_HERE) and n not in _PURE)
_NOTHING = ("ptx.cluster_arrive", "ptx.cluster_wait", "ptx.griddepcontrol")
"""What older processors can do without: their clusters are single blocks."""
P = ptr(I32, 4)
BAR = PtrType(I64, "smem", 8)
ROW = PtrType(I32, "smem", 16)


@pytest.mark.parametrize("name", NAMES)
def test_assembles(name: str) -> None:
    """All samples in one kernel, since ptxas takes most of its time to start."""
    for target in ("sm_90a", "sm_100a"):
        assemble(together(name), target)


def test_other_blocks_memory() -> None:
    def body(out: Value, bar: Value, row: Value, rank: Value, phase: Value) -> None:
        token = mbarrier.mbarrier_arrive_token("arrive", bar, phase)
        cute.store(mbarrier.mbarrier_pending_count(token), out)
        mbarrier.mbarrier_arrive("arrive", cluster.mapa(bar, rank), const(1))
        far = cute.ptr_add(cluster.mapa(row, rank), rank, 4)
        cute.store(add(cute.load(far), rank), far)

    module = kernel_module([P, BAR, ROW, I32, I32], body)
    text = to_ptx(module.clone({}), "sm_90a").ptx
    for part in ("mapa.shared::cluster.u32", "ld.shared::cluster.b32", "st.shared::cluster.b32",
                 "mbarrier.arrive.shared::cluster.b64 _", "mbarrier.pending_count"):  # fmt: skip
        assert part in text, part
    for target in ("sm_90a", "sm_100a"):
        assemble(module.clone({}), target)
    with pytest.raises(CompileError, match="sm_90"):
        to_ptx(module, "sm_80")


@pytest.mark.parametrize("name", _NOTHING)
def test_nothing_on_older_processors(name: str) -> None:
    assemble(together(name), "sm_80")


@pytest.mark.parametrize("name", [n for n in NAMES if n not in _NOTHING])
def test_is_refused_for_older_processors(name: str) -> None:
    with pytest.raises(CompileError, match="sm_90") as e:
        to_ptx(modules(name)[0], "sm_80")
    assert e.value.code == "OC1067"
