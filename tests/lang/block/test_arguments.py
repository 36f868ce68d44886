# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments that functions of `cute.arch` refuse: each wrong call beside a right one."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, pipeline
from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0
arch = cute.arch


@cute.kernel
def kernel(body: cutlass.Constexpr, floats: cute.Tensor, ints: cute.Tensor):
    body(floats, ints)


@cute.jit
def host(body: cutlass.Constexpr, floats: cute.Tensor, ints: cute.Tensor):
    kernel(body, floats, ints).launch(grid=1, block=64)


def _trace(call: Any) -> str:
    def body(floats: Any, ints: Any) -> None:
        call(floats, ints)

    floats, ints = np.zeros(64, np.float32), np.zeros(64, np.int32)
    with KNOBS.override(target="sim:sm_90a"):
        return cute.compile(host, body, from_dlpack(floats), from_dlpack(ints)).__mlir__


CASES: dict[str, tuple[Any, Any, str]] = {
    "barrier 16": (
        lambda f, i: arch.barrier(barrier_id=15),
        lambda f, i: arch.barrier(barrier_id=16),
        "OC2126",
    ),
    "half a warp": (
        lambda f, i: arch.barrier(barrier_id=1, number_of_threads=32),
        lambda f, i: arch.barrier(barrier_id=1, number_of_threads=48),
        "OC2127",
    ),
    "an arrival of nobody": (
        lambda f, i: arch.barrier_arrive(barrier_id=1, number_of_threads=64),
        lambda f, i: arch.barrier_arrive(barrier_id=1),
        "OC2127",
    ),
    "a named barrier": (
        lambda f, i: pipeline.NamedBarrier(3, 64).arrive_and_wait(),
        lambda f, i: pipeline.NamedBarrier(barrier_id=3, num_threads=2048),
        "OC2127",
    ),
    "a shuffle": (
        lambda f, i: arch.shuffle_sync_op(f[0], 1, kind="up"),
        lambda f, i: arch.shuffle_sync_op(f[0], 1, kind="left"),
        "OC2128",
    ),
    "a shuffle of a tensor": (
        lambda f, i: arch.shuffle_sync(f[0], 1),
        lambda f, i: arch.shuffle_sync(f, 1),
        "OC1204",
    ),
    "a shuffle by a float": (
        lambda f, i: arch.shuffle_sync(f[0], i[0]),
        lambda f, i: arch.shuffle_sync(f[0], f[0]),
        "OC1290",
    ),
    "an unknown reduction": (
        lambda f, i: arch.warp_redux_sync(i[0], "xor"),
        lambda f, i: arch.warp_redux_sync(i[0], "mul"),
        "OC2128",
    ),
    "a reduction of floats": (
        lambda f, i: arch.warp_redux_sync(f[0], "fmin"),
        lambda f, i: arch.warp_redux_sync(f[0], "add"),
        "OC1291",
    ),
    "a group of lanes": (
        lambda f, i: arch.warp_reduction_sum(f[0], threads_in_group=16),
        lambda f, i: arch.warp_reduction_sum(f[0], threads_in_group=24),
        "OC2128",
    ),
    "an atomic on a number": (
        lambda f, i: arch.atomic_add(f, 1.0),
        lambda f, i: arch.atomic_add(f[0], 1.0),
        "OC1292",
    ),
    "an atomic on registers": (
        lambda f, i: arch.atomic_add(f.iterator, 1.0),
        lambda f, i: arch.atomic_add(cute.make_rmem_tensor(4, cutlass.Float32).iterator, 1.0),
        "OC1292",
    ),
    "and of floats": (
        lambda f, i: arch.atomic_and(i.iterator, 1),
        lambda f, i: arch.atomic_and(f.iterator, 1),
        "OC1293",
    ),
    "fmax of integers": (
        lambda f, i: arch.atomic_fmax(f.iterator, 1.0),
        lambda f, i: arch.atomic_fmax(i.iterator, 1),
        "OC1293",
    ),
    "a memory order": (
        lambda f, i: arch.atomic_add(i.iterator, 1, sem="acq_rel", scope="sys"),
        lambda f, i: arch.atomic_add(i.iterator, 1, sem="seq_cst"),
        "OC2128",
    ),
    "a load that releases": (
        lambda f, i: arch.load(f.iterator, cutlass.Float32, sem="acquire"),
        lambda f, i: arch.load(f.iterator, cutlass.Float32, sem="release"),
        "OC2128",
    ),
    "a cache operator": (
        lambda f, i: arch.load(f.iterator, cop="cg"),
        lambda f, i: arch.load(f.iterator, cop="wb"),
        "OC2128",
    ),
    "a load of Booleans": (
        lambda f, i: arch.load(f.iterator, cutlass.Int8),
        lambda f, i: arch.load(f.iterator, cutlass.Boolean),
        "OC1294",
    ),
    "groups at run time": (
        lambda f, i: arch.cp_async_wait_group(cutlass.Int32(1) if False else 1),
        lambda f, i: arch.cp_async_wait_group(i[0]),
        "OC1295",
    ),
    "groups below 0": (
        lambda f, i: arch.cp_async_wait_group(0),
        lambda f, i: arch.cp_async_wait_group(-1),
        "OC2128",
    ),
    "a proxy": (
        lambda f, i: arch.fence_proxy("async.shared", space="cluster"),
        lambda f, i: arch.fence_proxy("texture"),
        "OC2128",
    ),
    "a rounding": (
        lambda f, i: arch.add_packed_f32x2((f[0], 1.0), (2.0, f[1]), rnd="rp"),
        lambda f, i: arch.add_packed_f32x2((f[0], 1.0), (2.0, f[1]), rnd="ra"),
        "OC2128",
    ),
    "bits of a float": (
        lambda f, i: arch.popc(i[0]),
        lambda f, i: arch.popc(f[0]),
        "OC1290",
    ),
    "a copy to global memory": (
        lambda f, i: arch.cp_async(arch.alloc_smem(cutlass.Float32, 1, 4), f.iterator, 4),
        lambda f, i: arch.cp_async(f.iterator, f.iterator, 4),
        "OC1466",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_broken_one_beside_the_right_one(name: str):
    right, broken, code = CASES[name]
    _trace(right)
    with pytest.raises(OpenCuTeError) as caught:
        _trace(broken)
    assert caught.value.code == code


def test_enumerations_of_other_spellings_are_taken():
    def call(f: Any, i: Any) -> None:
        arch.fence_proxy(arch.ProxyKind.async_shared, space=arch.SharedSpace.shared_cta)
        arch.fence_proxy("async_shared")
        arch.fence_proxy("alias", loc=None, ip=None)

    text = _trace(call)
    assert text.count('kind = "async.shared::cta"') == 2 and 'kind = "alias"' in text


def test_what_the_elected_lane_assigns_is_joined():
    @cute.jit
    def body(f: Any, i: Any) -> None:
        x = cutlass.Int32(0)
        with arch.elect_one():
            x = i[0] + 1
        i[1] = x

    assert "scf.if" in _trace(body)


def test_without_rewriting_a_value_of_the_elected_lane_does_not_get_out():
    def body(f: Any, i: Any) -> None:
        x = cutlass.Int32(0)
        with arch.elect_one():
            x = i[0] + 1
        i[1] = x

    with pytest.raises(OpenCuTeError) as caught:
        _trace(body)
    assert caught.value.code == "OC1116"


def test_another_function_of_that_name_is_refused():
    def elect_one() -> Any:
        return contextlib.nullcontext()

    @cute.jit
    def body(f: Any, i: Any) -> None:
        with elect_one():
            i[0] = 1

    with pytest.raises(OpenCuTeError) as caught:
        _trace(body)
    assert caught.value.code == "OC1612"


def test_facts_of_uniform_values_are_kept():
    seen: list[Any] = []

    def call(f: Any, i: Any) -> None:
        w = arch.make_warp_uniform(arch.warp_idx())
        seen.append((w.nonneg, w.is_index))

    _trace(call)
    assert seen == [(True, True)]
