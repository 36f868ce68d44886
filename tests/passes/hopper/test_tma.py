# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Every form of a bulk copy is assembled; older processors refuse them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opencute.arch.target import target
from opencute.base.errors import CompileError
from opencute.codegen.device import compile_device
from opencute.dialects import builtin, cute, gpu
from opencute.dialects.hopper import bulk, tensor_maps, tma
from opencute.ir.builder import insert_at
from opencute.ir.core import Op, Value
from opencute.ir.types import F16, I16, I32, I64
from opencute.passes.pipelines import run_device_passes

pytestmark = pytest.mark.t1
TYPES = (
    tensor_maps.TmaDescType(), cute.PtrType(F16, "gmem", 16), cute.PtrType(F16, "smem", 128),
    cute.PtrType(I64, "smem", 8), I32, I16, I64,
)  # fmt: skip
Body = Callable[..., None]


def module_with(body: Body) -> Op:
    module, top = builtin.module()
    with insert_at(top):
        _, kernels = gpu.gpu_module()
        with insert_at(kernels):
            _, block = gpu.gpu_func("k", TYPES)
            with insert_at(block):
                map_, *rest = block.args
                body(tensor_maps.descriptor_address(map_), *rest)
                gpu.return_()
    return module


def tiles(m: Value, g: Value, s: Value, bar: Value, x: Value, h: Value, hint: Value) -> None:
    for n in range(1, 6):
        tma.tma_load(s, m, bar, [x] * n)
        tma.tma_store(m, s, [x] * n)
        tma.tma_reduce("add", m, s, [x] * n)
        tma.tma_prefetch(m, [x] * n)
    for n in range(3, 6):
        offsets = [h] * (n - 2)
        tma.tma_load(s, m, bar, [x] * n, offsets=offsets, mode="im2col")
        tma.tma_prefetch(m, [x] * n, offsets=offsets, mode="im2col")
        tma.tma_store(m, s, [x] * n, mode="im2col")
    tma.tma_load(s, m, bar, [x, x], mask=h)
    tma.tma_load(s, m, bar, [x, x], cache=hint)
    tma.tma_load(s, m, bar, [x] * 3, offsets=[h], mask=h, cache=hint, mode="im2col")
    tma.tma_store(m, s, [x, x], cache=hint)
    tma.tma_prefetch(m, [x, x], cache=hint)
    for word in tma.REDUCTIONS:
        tma.tma_reduce(word, g, s, [x, x], cache=hint)


def runs(m: Value, g: Value, s: Value, bar: Value, x: Value, h: Value, hint: Value) -> None:
    bulk.bulk_copy(s, g, x, bar)
    bulk.bulk_copy(s, g, x, bar, mask=h, cache=hint)
    bulk.bulk_copy(g, s, x)
    bulk.bulk_copy(g, s, x, cache=hint)
    for op, types in bulk.BULK_REDUCTIONS.items():
        for type in types:
            bulk.bulk_reduce(op, type, g, s, x)
    bulk.bulk_prefetch(g, x)
    bulk.bulk_prefetch(g, x, hint)
    bulk.bulk_commit()
    bulk.bulk_wait(0)
    bulk.bulk_wait(2, read=True)


def maps(m: Value, g: Value, s: Value, bar: Value, x: Value, h: Value, hint: Value) -> None:
    for field, (listed, type) in tensor_maps.FIELDS.items():
        value = hint if type == I64 else x
        for place in (g, s):
            tensor_maps.replace_tensormap(place, field, value, 3 if listed else 0)
    tensor_maps.copy_fence_tensormap(g, s)
    tensor_maps.prefetch_tensormap(g)


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("body", [tiles, runs, maps])
def test_forms_are_assembled(arch: str, body: Body) -> None:
    sm = target(arch)
    code = compile_device(module_with(body), sm, lower=lambda m: run_device_passes(m, sm))
    assert code.cubin


def test_text_of_instructions() -> None:
    module = module_with(tiles)
    run_device_passes(module, target("sm_90a"))
    text = str(module)
    for part in (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], "
        "[$1, {$3, $4}], [$2];",
        "im2col.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [$0], "
        "[$1, {$3, $4, $5}], [$2], {$6}, $7, $8;",
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [$0, {$2}], [$1];",
        "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group",
    ):
        assert part in text


@pytest.mark.parametrize("body", [tiles, runs])
def test_older_processors_have_none(body: Body) -> None:
    run_device_passes(module_with(body), target("sm_90"))
    with pytest.raises(CompileError) as e:
        run_device_passes(module_with(body), target("sm_80"))
    assert e.value.code == "OC1068"


def test_maps_are_changed_by_code_for_one_architecture() -> None:
    run_device_passes(module_with(maps), target("sm_90a"))
    with pytest.raises(CompileError) as e:
        run_device_passes(module_with(maps), target("sm_90"))
    assert e.value.code == "OC1068"
