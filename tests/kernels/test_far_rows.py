# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of one tile that are further apart than 32 bits can say."""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opencute.base.knobs import KNOBS
from opencute.kernels.attention import attention, attention_backward
from opencute.kernels.decode import decode_attention
from opencute.kernels.hstu import hstu_attention

pytestmark = pytest.mark.t0
_NORESERVE = 0x4000  # of Linux: pages that nobody touches take no memory
FAR = (1 << 31) + 64


def far(shape: tuple[int, ...], axis: int) -> Any:
    """An array of f16 whose neighbours along an axis are 4 GB apart."""
    steps = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    steps[axis] = FAR
    size = 2 * (1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)))
    try:
        room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    except (OSError, AttributeError, OverflowError):
        pytest.skip("no address space for it")
    whole = np.frombuffer(room, np.float16)
    array = np.lib.stride_tricks.as_strided(whole, shape, [2 * s for s in steps])
    array[...] = np.random.default_rng(0).standard_normal(shape)
    return array


def gradients(q: Any, k: Any, v: Any) -> Any:
    lse = attention(q, k, v, return_lse=True)[1]
    return np.stack(attention_backward(q, q, k, v, q, lse))


CALLS: dict[str, Callable[..., Any]] = {
    "attention": attention, "gradients": gradients, "decode": decode_attention,
    "hstu": hstu_attention,
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_keys_that_are_far_apart(call: str) -> None:
    x = far((1, 2, 1, 16), 1)
    near = np.ascontiguousarray(x)
    with KNOBS.override(target="sim:sm_80"):
        want = CALLS[call](near, near, near)
        found = CALLS[call](x, x, x)
    assert np.array_equal(found, want)


def test_rows_of_a_bias_that_are_far_apart() -> None:
    q, k = (np.ones((1, n, 1, 16), np.float16) for n in (2, 8))
    bias = far((1, 1, 2, 8), 2)
    with KNOBS.override(target="sim:sm_80"):
        want = hstu_attention(q, k, k, np.ascontiguousarray(bias))
        found = hstu_attention(q, k, k, bias)
    assert np.array_equal(found, want)
