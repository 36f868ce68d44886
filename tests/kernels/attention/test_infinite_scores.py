# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of which every score is -inf: the result is 0, the logarithm -inf, as if they saw no key.

Keys whose scores are -inf have no weight, in whatever tile or part they come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.base.knobs import KNOBS
from opencute.kernels.attention import AttentionConfig, attention
from opencute.kernels.attention.config import WarpgroupConfig
from opencute.kernels.attention.reference import attention as reference
from opencute.kernels.decode import decode_attention
from opencute.kernels.decode.config import DecodeConfig
from opencute.kernels.mla import mla_decode
from opencute.kernels.mla.config import MlaConfig

pytestmark = pytest.mark.t0


def positive(*shape: int) -> Any:
    x = np.abs(np.random.default_rng(1).standard_normal(shape))
    return x.astype(np.float16) + np.float16(0.1)


def normal(*shape: int) -> Any:
    return np.random.default_rng(2).standard_normal(shape).astype(np.float16)


def dead(k: Any) -> Any:
    """Three batches of keys of which all, the first half and the second half have the score -inf
    with any query of positive elements."""
    out, half = np.concatenate([k] * 3), k.shape[1] // 2
    out[0, ..., -1] = out[1, :half, ..., -1] = out[2, half:, ..., -1] = -np.inf
    return out


def compare(out: Any, lse: Any, q: Any, k: Any, v: Any, scale: float) -> None:
    """Results of three batches, of the last query, with those of the keys that are left."""
    assert not out[0].any() and (lse[0] == -np.inf).all()
    half = k.shape[1] // 2
    for i, left in ((1, slice(half, None)), (2, slice(half))):
        want, logs = reference(q, k[:, left], v[:, left], scale)
        np.testing.assert_allclose(out[i : i + 1], want, atol=2e-3)
        np.testing.assert_allclose(lse[i : i + 1], logs, atol=1e-5)


@pytest.mark.parametrize(
    ("arch", "head", "keys", "config", "causal"),
    [
        ("sm_80", 32, 32, AttentionConfig(16, 16, 1), False),
        ("sm_80", 32, 64, AttentionConfig(32, 32, 2, 2), True),
        ("sm_90a", 64, 128, WarpgroupConfig(2, 64, 2), True),
        ("sm_90a", 64, 128, WarpgroupConfig(2, 64, 2, persistent=False), False),
    ],
)
def test_attention(arch: str, head: int, keys: int, config: Any, causal: bool) -> None:
    q, k, v = positive(1, keys, 1, head), normal(1, keys, 1, head), normal(1, keys, 1, head)
    with KNOBS.override(target=f"sim:{arch}"):
        out, lse = attention(
            np.concatenate([q] * 3), dead(k), np.concatenate([v] * 3), causal=causal,
            return_lse=True, config=config,
        )  # fmt: skip
    assert not out[0].any() and (lse[0] == -np.inf).all()
    compare(out[:, -1:], lse[..., -1:], q[:, -1:], k, v, head**-0.5)


@pytest.mark.parametrize(
    ("arch", "config"),
    [
        ("sm_80", DecodeConfig(1, 2, 16, 2, 2)),
        ("sm_90a", DecodeConfig(1, 1, 64, 2, 2, "flags")),
        ("sm_90a", DecodeConfig(1, 1, 64, 2, 2, "cluster")),
    ],
)
def test_decoding(arch: str, config: Any) -> None:
    q, k, v = positive(1, 1, 2, 64), normal(1, 256, 1, 64), normal(1, 256, 1, 64)
    with KNOBS.override(target=f"sim:{arch}"):
        out, lse = decode_attention(
            np.concatenate([q] * 3), dead(k), np.concatenate([v] * 3), return_lse=True,
            config=config,
        )  # fmt: skip
    compare(out, lse, q, k, v, 64**-0.5)


@pytest.mark.parametrize("splits", [1, 2])
def test_a_latent_cache(splits: int) -> None:
    q, rope, cache = positive(1, 1, 8, 512), positive(1, 1, 8, 64), normal(1, 128, 576)
    with KNOBS.override(target="sim:sm_90a"):
        out, lse = mla_decode(
            np.concatenate([q] * 3), np.concatenate([rope] * 3), dead(cache), scale=0.04,
            return_lse=True, config=MlaConfig(2, splits),
        )  # fmt: skip
    cache = cache[:, :, None]
    compare(out, lse, np.concatenate([q, rope], -1), cache, cache[..., :512], 0.04)
