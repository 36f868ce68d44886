# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a processor lacks is refused alike when a kernel is simulated and when it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import CompileError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.dialects.hopper import bulk, cluster, mbarrier, tensor_maps, tma
from opencute.passes.hopper.needed import _SINCE_HOPPER, _TMA

pytestmark = pytest.mark.t0


@cute.kernel
def barrier(x: cute.Tensor) -> None:
    b = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
    if cute.arch.thread_idx()[0] == 0:
        cute.arch.mbarrier_init(b, 1)
    x[0] = 2.0


@cute.kernel
def registers(x: cute.Tensor) -> None:
    cute.arch.setmaxregister_decrease(40)
    x[0] = 2.0


@cute.kernel
def portable(x: cute.Tensor) -> None:
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    with cute.arch.elect_one():
        x[0] = 2.0


def run(kernel: Any, target: str) -> float:
    @cute.jit
    def host(x: cute.Tensor) -> None:
        kernel(x).launch(grid=1, block=128)

    out = np.zeros(4, np.float32)
    with KNOBS.override(target=target):
        host(from_dlpack(out))
    return float(out[0])


def compile_for(kernel: Any, arch: str) -> str:
    @cute.jit
    def host(x: cute.Tensor) -> None:
        kernel(x).launch(grid=1, block=128)

    with KNOBS.override(target=f"sim:{arch}"):
        return cute.compile(host, from_dlpack(np.zeros(4, np.float32))).artefacts.ptx


def refused(act: Callable[[], object]) -> str:
    with pytest.raises(CompileError) as e:
        act()
    assert e.value.code == "OC1067"
    text = str(e.value)
    assert "in pass" not in text  # which pass looks for it is no matter to users
    return text.split("called from")[0]


@pytest.mark.parametrize(
    ("kernel", "old", "line"),
    [
        (barrier, "sm_80", "cute.arch.mbarrier_init(b, 1)"),
        (registers, "sm_89", "cute.arch.setmaxregister_decrease(40)"),
        (registers, "sm_90", "cute.arch.setmaxregister_decrease(40)"),
    ],
)
def test_the_simulator_refuses_what_the_compiler_refuses(kernel: Any, old: str, line: str) -> None:
    simulated = refused(lambda: run(kernel, f"sim:{old}"))
    assert line in simulated
    assert simulated == refused(lambda: compile_for(kernel, old))
    assert run(kernel, "sim:sm_90a") == run(kernel, "sim") == 2.0


def test_what_has_a_meaning_on_older_processors_runs() -> None:
    assert run(portable, "sim:sm_80") == 2.0
    assert ".target sm_80" in compile_for(portable, "sm_80")


def test_every_operation_of_hopper_is_named() -> None:
    """An operation that is added has to be refused, or to be listed here as portable."""
    modules = (bulk, cluster, mbarrier, tensor_maps, tma)
    named = {str(getattr(c, "NAME", "")) for m in modules for c in vars(m).values()}
    ops = {name for name in named if name.startswith("ptx.")}
    portable_ops = {"ptx.cluster_arrive", "ptx.cluster_wait", "ptx.griddepcontrol"}
    assert len(ops) > 20
    assert ops - portable_ops == set(_SINCE_HOPPER) | set(_TMA)
