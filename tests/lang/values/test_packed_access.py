# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Single elements narrower than a byte: in the simulator against a model, and in machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.numeric.convert import convert
from opencute.numeric.dtypes import DTYPES
from opencute.numeric.packing import unpack

TYPES = [cutlass.Float4E2M1FN, cutlass.Float6E2M3FN, cutlass.Float6E3M2FN, cutlass.Int4,
         cutlass.Uint4]  # fmt: skip
N = 24


def values(raw: Any, cls: Any) -> Any:
    t = cls.dtype
    return convert(unpack(raw, t, N).view(t.numpy_dtype), t, DTYPES["f32"])


@pytest.mark.t0
@pytest.mark.parametrize("cls", TYPES)
def test_elements_at_static_and_run_time_offsets(cls: Any) -> None:
    rng = np.random.default_rng(2)
    raw = rng.integers(0, 256, N * cls.width // 8, np.uint8)
    want = values(raw, cls)
    static, dynamic = np.zeros(N, np.float32), np.zeros(N, np.float32)

    def body(x: Any, a: Any, b: Any) -> None:
        t = cute.make_tensor(cute.recast_ptr(x.iterator, dtype=cls), cute.make_layout(N))
        i, _, _ = cute.arch.thread_idx()
        b[i] = t[i].to(cutlass.Float32)
        for k in range(N):
            a[k] = t[k].to(cutlass.Float32)

    on_device(body, raw, static, dynamic, block=N)
    assert static.tolist() == dynamic.tolist() == want.tolist()


@pytest.mark.t0
@pytest.mark.parametrize("cls", TYPES)
def test_stores_keep_the_neighbours(cls: Any) -> None:
    rng = np.random.default_rng(3)
    raw = rng.integers(0, 256, N * cls.width // 8, np.uint8)
    before = values(raw, cls)

    @cute.jit
    def body(x: cute.Tensor, n: cute.Tensor):
        t = cute.make_tensor(cute.recast_ptr(x.iterator, dtype=cls), cute.make_layout(N))
        t[5] = 1
        t[10 + n[0]] = 2

    on_device(body, raw, np.array([3], np.int32))
    want = before.copy()
    want[5], want[13] = 1, 2
    assert values(raw, cls).tolist() == want.tolist()


@cute.kernel
def _kernel(x: cute.Tensor, out: cute.Tensor, cls: cutlass.Constexpr):
    t = cute.make_tensor(cute.recast_ptr(x.iterator, dtype=cls), cute.make_layout(N))
    i, _, _ = cute.arch.thread_idx()
    r = cute.make_rmem_tensor(4, cls)
    for k in cutlass.range_constexpr(4):
        r[k] = t[(i + k) % N]
    out[i] = r[0].to(cutlass.Float32) + r[3].to(cutlass.Float32)
    cute.print_tensor(r)


@cute.jit
def _host(x: cute.Tensor, out: cute.Tensor, cls: cutlass.Constexpr):
    _kernel(x, out, cls).launch(grid=1, block=N)


@pytest.mark.t1
@pytest.mark.parametrize("name", ["sm_80", "sm_100a"])
@pytest.mark.parametrize("cls", TYPES)
def test_machine_code(cls: Any, name: str) -> None:
    x, out = from_dlpack(np.zeros(N, np.uint8)), from_dlpack(np.zeros(N, np.float32))
    with KNOBS.override(target=f"sim:{name}"):
        made = cute.compile(_host, x, out, cls).artefacts
    assert made.cubin
