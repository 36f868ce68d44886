# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention with a latent cache: small sizes in the simulator against NumPy, real ones on a GPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.kernels.mla import MlaConfig, mla_decode
from opencute.kernels.mla.config import heuristic, search_space
from opencute.kernels.mla.reference import mla_decode as reference


def operands(b: int, sq: int, h: int, keys: int, page: int | None, dtype: Any) -> tuple[Any, ...]:
    """Queries, cache, and the table: pages in a random order, more than are needed."""
    rng = np.random.default_rng(0)
    shape, table = (b, keys, 576), None
    if page:
        pages = -(-keys // page)
        table = rng.permutation(b * pages + 2)[: b * pages].reshape(b, pages).astype(np.int32)
        shape = (b * pages + 2, page, 576)
    shapes = ((b, sq, h, 512), (b, sq, h, 64), shape)
    return (*(rng.standard_normal(s, np.float32).astype(dtype) for s in shapes), table)


CASES = [
    # b, sq, h, lengths, page, dtype, config; tiles have 64 keys
    (1, 1, 16, (70,), None, np.float16, MlaConfig(2, 1)),
    (1, 2, 40, (250,), 128, ml_dtypes.bfloat16, MlaConfig(2, 1, 2)),  # two blocks, a cluster
]


@pytest.mark.t0
@pytest.mark.parametrize(("b", "sq", "h", "lengths", "page", "dtype", "config"), CASES)
def test_simulated(
    checked: None, b: int, sq: int, h: int, lengths: Any, page: int | None, dtype: Any,
    config: MlaConfig,
) -> None:  # fmt: skip
    q_nope, q_rope, cache, table = operands(b, sq, h, max(lengths), page, dtype)
    if table is not None:  # what lies behind the keys is not used
        cache[table[0, -1], lengths[0] % page or page :] = np.nan
    numbers = np.array(lengths, np.int32)
    out, logs = mla_decode(
        q_nope, q_rope, cache, numbers, scale=0.1, block_table=table, return_lse=True,
        config=config,
    )  # fmt: skip
    want, want_logs = reference(q_nope, q_rope, cache, numbers, 0.1, table=table)
    step = 2e-3 if dtype == np.float16 else 1.6e-2  # weights are rounded, then the result
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=step, atol=step / 2)
    np.testing.assert_allclose(logs, want_logs, rtol=1e-5, atol=1e-5)


@pytest.mark.t0
def test_no_key_and_the_usual_choice(checked: None) -> None:
    q_nope, q_rope, cache, _ = operands(1, 1, 1, 3, None, np.float16)
    out, logs = mla_decode(
        q_nope, q_rope, cache[:, :, None], np.zeros(1, np.int32), scale=1.0, return_lse=True
    )
    assert not out.any() and (logs == -np.inf).all()


@pytest.mark.t0
def test_axes_of_one_element_may_have_any_stride() -> None:
    """That of ``x[None]`` is 0."""
    q_nope, q_rope, cache, _ = operands(1, 1, 8, 64, None, np.float16)
    with KNOBS.override(target="sim:sm_90a"):
        want = mla_decode(q_nope, q_rope, cache, scale=0.04)
        out = mla_decode(
            q_nope[0, 0][None, None], q_rope[0, 0][None, None], cache[0][None], scale=0.04
        )
    assert cache[0][None].strides[0] == 0
    np.testing.assert_array_equal(out, want)


@pytest.mark.t0
def test_wrong_arguments() -> None:
    q_nope, q_rope, cache, table = operands(2, 1, 4, 64, 64, np.float16)
    assert table is not None
    lengths, flat = np.array([3, 4], np.int32), cache[table[:, 0]]
    still = np.broadcast_to(flat[:, :1], flat.shape)
    for bad, code in (
        (lambda: mla_decode(q_nope, q_rope, flat, lengths[:1], scale=1.0), "OC2562"),
        (
            lambda: mla_decode(
                q_nope, q_rope, cache[:, :32], lengths, block_table=table, scale=1.0
            ),
            "OC2561",
        ),
        (lambda: mla_decode(q_nope, q_rope, cache, block_table=table, scale=1.0), "OC2564"),
        (lambda: mla_decode(q_nope, q_rope, cache, lengths, scale=1.0), "OC2569"),
        (lambda: mla_decode(q_nope, q_nope, flat, lengths, scale=1.0), "OC2569"),
        (lambda: mla_decode(q_nope, q_rope, flat.astype(np.float32), scale=1.0), "OC2525"),
        (lambda: mla_decode(q_nope, q_rope, flat, scale=-1.0), "OC2522"),
        (lambda: mla_decode(q_nope, q_rope, flat, scale=np.inf), "OC2522"),
        (lambda: mla_decode(q_nope, q_rope, flat, scale=1.0, out=q_rope.copy()), "OC2523"),
        (lambda: mla_decode(q_nope, q_rope, still, scale=1.0), "OC2568"),
        (lambda: mla_decode(q_nope, q_rope, flat, scale=1.0, config=MlaConfig(4, 1)), "OC2566"),
        (lambda: mla_decode(q_nope, q_rope, flat, scale=1.0, config=MlaConfig(3, 1, 2)), "OC2566"),
    ):
        with KNOBS.override(target="sim:sm_90a"), pytest.raises(ArgumentError) as e:
            bad()
        assert e.value.code == code
    with KNOBS.override(target="sim:sm_100a"), pytest.raises(ArgumentError) as e:
        mla_decode(q_nope, q_rope, flat, scale=1.0)
    assert e.value.code == "OC2567"


@pytest.mark.t0
def test_choices_are_possible() -> None:
    for rows, keys, batches in ((128, 8192, 64), (16, 100000, 1), (2048, 1, 3)):
        best = heuristic(rows, keys, batches, 132)
        assert best.check(rows) is best
        assert best in list(search_space(rows, keys, batches, 132))
    assert heuristic(128, 8192, 66, 132).splits == 1
    assert heuristic(128, 65536, 1, 132).splits >= 60


@pytest.mark.t2
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("page", [None, 64])
@pytest.mark.parametrize(
    ("b", "sq", "h", "keys"), [(3, 1, 128, 2000), (1, 2, 64, 9000), (2, 4, 16, 300)]
)
def test_on_a_gpu(b: int, sq: int, h: int, keys: int, page: int | None, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("no warpgroups")
    *arrays, table = operands(b, sq, h, keys, page, np.float32)
    lengths = np.random.default_rng(1).integers(0, keys + 1, b).astype(np.int32)
    lengths[0] = keys
    on_gpu = [torch.from_numpy(x).cuda().to(getattr(torch, dtype)) for x in arrays]
    lists = [None if x is None else torch.from_numpy(x).cuda() for x in (lengths, table)]
    out, lse = mla_decode(
        *on_gpu, lists[0], scale=0.07, block_table=lists[1], return_lse=True
    )  # fmt: skip
    wide = [x.cpu().float().numpy() for x in on_gpu]
    want, logs = reference(*wide, lengths, 0.07, table=table)
    step = 2e-2 if dtype == "float16" else 4e-2
    np.testing.assert_allclose(out.cpu().float().numpy(), want, rtol=step, atol=step / 4)
    np.testing.assert_allclose(lse.cpu().numpy(), logs, rtol=1e-4, atol=1e-4)
