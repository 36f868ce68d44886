# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention for decoding: small sizes in the simulator against NumPy, real sizes on a GPU."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.kernels.decode import DecodeConfig, decode_attention, interface
from opencute.kernels.decode.config import Work, heuristic, search_space
from opencute.kernels.decode.reference import decode_attention as reference

HALF, BRAIN = np.float16, ml_dtypes.bfloat16


def operands(
    b: int, sq: int, h: int, hk: int, d: int, keys: int, page: int | None, dtype: Any
) -> tuple[Any, ...]:
    """Queries, keys, values, and the table: pages in a random order, more than are needed."""
    rng = np.random.default_rng(0)
    shape, table = (b, keys, hk, d), None
    if page:
        pages = -(-keys // page)
        table = rng.permutation(b * pages + 2)[: b * pages].reshape(b, pages).astype(np.int32)
        shape = (b * pages + 2, page, hk, d)
    arrays = [
        rng.standard_normal(s, np.float32).astype(dtype) for s in ((b, sq, h, d), *[shape] * 2)
    ]
    return (*arrays, table)


AMPERE, HOPPER = "sim:sm_80", "sim:sm_90a"
CASES = [
    # target, b, sq, h, hk, d, lengths, page, causal, dtype, config
    (AMPERE, 2, 1, 4, 1, 64, (70, 50), None, True, HALF, DecodeConfig(1, 2, 16, 3, 1)),
    (HOPPER, 2, 2, 4, 2, 64, (61, 0), None, True, BRAIN, DecodeConfig(1, 2, 16, 3, 3)),  # no key
    (HOPPER, 1, 5, 8, 1, 96, (33,), None, False, HALF, DecodeConfig(2, 2, 16, 3, 2)),  # two blocks
    (AMPERE, 1, 5, 8, 2, 40, (21,), None, True, HALF, DecodeConfig(2, 1, 16, 3, 1)),
    (HOPPER, 2, 1, 4, 2, 128, (50, 33), 32, True, HALF, DecodeConfig(1, 2, 16, 3, 2)),
    # Threads with several vectors of rows, or with none.
    (HOPPER, 1, 5, 8, 1, 96, (49,), None, True, BRAIN, DecodeConfig(2, 1, 32, 3, 1)),
    (AMPERE, 1, 1, 3, 1, 40, (21,), None, True, HALF, DecodeConfig(1, 8, 16, 2, 1)),
]


@pytest.mark.t0
@pytest.mark.parametrize(
    ("target", "b", "sq", "h", "hk", "d", "lengths", "page", "causal", "dtype", "config"), CASES
)
def test_simulated(
    target: str, b: int, sq: int, h: int, hk: int, d: int, lengths: Any, page: int | None,
    causal: bool, dtype: Any, config: DecodeConfig,
) -> None:  # fmt: skip
    q, k, v, table = operands(b, sq, h, hk, d, max(lengths), page, dtype)
    lengths = np.array(lengths, np.int32)
    with KNOBS.override(target=target, sim_check=True):
        out, logs = decode_attention(
            q, k, v, lengths, block_table=table, causal=causal, return_lse=True, config=config
        )
    want, want_logs = reference(q, k, v, lengths, d**-0.5, causal=causal, table=table)
    step = 2e-3 if dtype == np.float16 else 1.6e-2  # weights are rounded, then the result
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=step, atol=step / 2)
    np.testing.assert_allclose(logs, want_logs, rtol=1e-5, atol=1e-5)


@pytest.mark.t0
@pytest.mark.parametrize("target", [AMPERE, HOPPER])
def test_what_lies_behind_the_keys_is_not_used(target: str) -> None:
    q, k, v, table = operands(1, 1, 2, 1, 64, 64, 32, HALF)
    assert table is not None
    want, _ = reference(q, k, v, [37], 0.5, table=table)
    k[table[0, 1], 5:], v[table[0, 1], 5:] = np.nan, np.nan
    wide = np.concatenate([table, [[-1]]], 1).astype(np.int32)
    with KNOBS.override(target=target, sim_check=True):
        out = decode_attention(
            q, k, v, np.array([37], np.int32), block_table=wide, scale=0.5,
            config=DecodeConfig(1, 2, 16, 2, 2),
        )  # fmt: skip
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2e-3, atol=1e-3)


@pytest.mark.t0
def test_all_keys_with_the_usual_choice(checked: None) -> None:
    q, k, v, _ = operands(1, 1, 2, 2, 64, 40, None, HALF)
    into = np.zeros_like(q)
    assert decode_attention(q, k, v, out=into) is into
    want, logs = reference(q, k, v, None, 64**-0.5)
    np.testing.assert_allclose(into.astype(np.float64), want, rtol=2e-3, atol=1e-3)
    nothing, none = decode_attention(q, k[:, :0], v[:, :0], return_lse=True)
    assert not nothing.any() and (none == -np.inf).all() and logs.shape == none.shape
    counts, table = np.zeros(0, np.int32), np.zeros((0, 3), np.int32)  # no sequences
    assert decode_attention(q[:0], k[:, :32], v[:, :32], counts, block_table=table).shape[0] == 0


@pytest.mark.t0
def test_wrong_arguments() -> None:
    q, k, v, table = operands(2, 1, 4, 2, 64, 64, 32, HALF)
    assert table is not None
    lengths = np.array([3, 4], np.int32)
    flat = (k[table].reshape(2, 64, 2, 64), v[table].reshape(2, 64, 2, 64))
    odd = np.zeros((2, 64, 2, 65), HALF)[..., 1:]
    good = DecodeConfig(1, 4, 16, 3, 1)
    for bad, code in (
        (lambda: decode_attention(q, *flat, lengths[:1]), "OC2562"),
        (lambda: decode_attention(q, *flat, lengths.astype(np.int64)), "OC2562"),
        (lambda: decode_attention(q, k, v, lengths, block_table=table[:1]), "OC2562"),
        (lambda: decode_attention(q, k[:, :24], v[:, :24], lengths, block_table=table), "OC2563"),
        (lambda: decode_attention(q, k, v, block_table=table), "OC2564"),
        (lambda: decode_attention(q, k, v, lengths), "OC2565"),
        (lambda: decode_attention(q.repeat(17, 1), *flat), "OC2565"),
        (lambda: decode_attention(q, flat[0], flat[1].astype(np.float32)), "OC2525"),
        (lambda: decode_attention(q, *flat, scale=0.0), "OC2522"),
        (lambda: decode_attention(q, *flat, scale=1e9), "OC2522"),
        (lambda: decode_attention(q, *flat, scale=np.ones(2)), "OC2531"),
        (
            lambda: decode_attention(
                q,
                *flat,
                out=np.lib.stride_tricks.as_strided(
                    np.zeros(q.shape, HALF), strides=(0, *q.strides[1:])
                ),
            ),
            "OC2541",
        ),
        (lambda: decode_attention(q, *flat, out=q[:1]), "OC2523"),
        (lambda: decode_attention(q, odd, odd), "OC2524"),
        (lambda: decode_attention(q, np.zeros((2, 64, 2, 128), HALF)[..., ::2], flat[1]), "OC2501"),
        (lambda: decode_attention(q, *flat, config=DecodeConfig(3, 4, 16, 3, 1)), "OC2560"),
        (lambda: decode_attention(q, *flat, config=DecodeConfig(1, 4, 128, 9, 1)), "OC2521"),
        (
            lambda: decode_attention(q, *flat, config=DecodeConfig(1, 4, 16, 3, 2, beyond=2)),
            "OC2560",
        ),
        (
            lambda: decode_attention(
                q, k, v, lengths, block_table=table, config=DecodeConfig(1, 1, 64, 3, 1)
            ),
            "OC2561",
        ),
    ):
        with KNOBS.override(target="sim:sm_90a"), pytest.raises(ArgumentError) as e:
            bad()
        assert e.value.code == code
    assert good.check(64, 32, 232448) is good


@pytest.mark.t0
@pytest.mark.parametrize("smem", [99 * 1024, 163 * 1024, 227 * 1024])
@pytest.mark.parametrize("page", [None, 16, 64])
@pytest.mark.parametrize("rows", [1, 16, 20, 128])
@pytest.mark.parametrize("head_dim", [64, 128, 192, 256])
@pytest.mark.parametrize("bits", [16, 8])
def test_choices_are_possible(
    rows: int, head_dim: int, page: int | None, smem: int, bits: int
) -> None:
    for pairs, keys in ((512, 8192), (1, 100000), (8, 1), (3, 700)):
        work = Work(rows, head_dim, keys, pairs, page, 132, bits)
        for running in (None, active):
            assert heuristic(work, smem, running).check(head_dim, page, smem, bits)
    assert len(list(search_space(work, smem, active))) >= len(list(search_space(work, smem)))
    assert len(list(search_space(work, smem))) >= 4


def active(blocks: int) -> int:
    """Clusters that run at a time on an H200."""
    return {1: 132, 2: 66, 4: 30, 8: 15, 16: 7}[blocks]


@pytest.mark.t0
@pytest.mark.parametrize(
    ("work", "want"),
    [
        # rows, head_dim, keys, pairs, page, processors, bits; what was fastest on an H200.
        (Work(4, 128, 8192, 8, None, 132), DecodeConfig(1, 8, 16, 2, 8, "cluster", once=True)),
        (Work(4, 128, 32768, 8, None, 132), DecodeConfig(1, 8, 16, 2, 8, "cluster", once=True)),
        (Work(4, 128, 32768, 8, None, 132, 8), DecodeConfig(1, 8, 32, 3, 8, "cluster", once=True)),
        (Work(8, 128, 8192, 64, None, 132, 8), DecodeConfig(1, 8, 32, 3, 2, "cluster", once=True)),
        # So much that L2 is not told that it is read once.
        (Work(4, 128, 8192, 512, None, 132), DecodeConfig(1, 4, 16, 3, 1)),
        (Work(4, 128, 8192, 128, None, 132), DecodeConfig(1, 4, 16, 6, 1)),
        # Four sequences or heads of a cluster.
        (Work(4, 128, 1000, 32, None, 132),
         DecodeConfig(1, 4, 32, 2, 2, "cluster", beyond=4, once=True)),
        (Work(4, 128, 4096, 32, None, 132),
         DecodeConfig(1, 8, 16, 2, 2, "cluster", beyond=4, once=True)),
        (Work(32, 128, 8192, 32, None, 132),
         DecodeConfig(2, 4, 32, 2, 2, "cluster", beyond=4, once=True)),
        # Heads of 64.
        (Work(4, 64, 32768, 8, None, 132), DecodeConfig(1, 8, 32, 2, 8, "cluster", once=True)),
        (Work(4, 64, 8192, 8, None, 132), DecodeConfig(1, 8, 32, 2, 8, "cluster", once=True)),
        (Work(4, 64, 4096, 32, None, 132),
         DecodeConfig(1, 8, 32, 2, 2, "cluster", beyond=4, once=True)),
        # Eight bits that L2 holds.
        (Work(4, 128, 8192, 16, None, 132, 8),
         DecodeConfig(1, 8, 32, 2, 4, "cluster", beyond=2, once=True)),
        (Work(4, 128, 8192, 8, None, 132, 8), DecodeConfig(1, 8, 32, 2, 8, "cluster", once=True)),
        (Work(4, 64, 32768, 8, None, 132, 8), DecodeConfig(1, 8, 64, 2, 16, once=True)),
    ],
)  # fmt: skip
def test_choices(work: Work, want: DecodeConfig) -> None:
    assert heuristic(work, 232448, active) == want


@pytest.mark.t0
def test_keys_that_several_blocks_read_stay_in_l2() -> None:
    assert not heuristic(Work(4, 128, 8192, 8, 64, 132), 232448, active).once
    assert not heuristic(Work(128, 128, 8192, 8, None, 132), 232448, active).once
    assert not heuristic(Work(4, 128, 8192, 8, None, 132), 232448).once  # not measured


@pytest.mark.t0
def test_all_clusters_run_at_a_time_and_have_enough_multiprocessors() -> None:
    for pairs in range(1, 140):
        for rows, size in ((4, 128), (32, 128), (64, 128), (4, 64), (4, 256)):
            work = Work(rows, size, 16384, pairs, None, 132)
            found = heuristic(work, 232448, active)
            if found.merge != "cluster":
                continue
            blocks = pairs * -(-rows // found.rows)
            assert found.splits in (2, 4, 8) and blocks <= active(found.splits)
            usual = rows <= {128: 32, 64: 16}.get(size, 0)
            assert blocks * found.splits >= (0.45 if usual else 0.85) * 132
            assert found.beyond == 1 or blocks // found.beyond <= active(8)
            assert blocks % found.beyond == 0 and found.beyond in (1, 8 // found.splits)
    many = [heuristic(Work(4, 128, 16384, n, None, 132), 232448, active) for n in range(1, 140)]
    assert [c.splits for c in many[7:67:8]] == [8, 4, 4, 2, 2, 2, 2, 2]
    assert {c.merge for c in (*many[:7], *many[66:])} == {"launch"}
    assert {c.merge for c in many[7:66]} == {"cluster"}
    assert [n + 1 for n, c in enumerate(many) if c.beyond > 1] == [16, 32]
    # Too few keys for as many blocks, no clusters, or fewer than usual at a time.
    assert heuristic(Work(4, 128, 1000, 8, None, 132), 232448, active).merge == "launch"
    assert heuristic(Work(4, 128, 16384, 8, None, 132), 232448).merge == "launch"
    few = heuristic(Work(4, 128, 16384, 16, None, 132), 232448, lambda c: 15)
    assert (few.splits, few.merge) == (8, "launch")


@pytest.mark.t0
@pytest.mark.parametrize("heads", [1, 2, 4, 8, 16, 32])
def test_all_that_a_cluster_is_to_have_divides_what_there_is(heads: int) -> None:
    """So that there are no more clusters than run at a time."""
    config = DecodeConfig(1, 8, 16, 2, 2, "cluster", beyond=4)
    assert math.prod(interface.beyond(config, heads, 32 // heads)) == 4
    assert math.prod(interface.beyond(config, 3, 5)) == 1


@pytest.mark.t0
def test_splits_fill_the_device() -> None:
    """One sequence is shared by all multiprocessors; many are not shared."""
    for bits in (16, 8):
        alone = heuristic(Work(4, 128, 65536, 8, None, 132, bits), 232448)
        assert 132 - 8 < 8 * alone.splits <= 264
    assert heuristic(Work(4, 128, 8192, 512, None, 132), 232448).splits == 1


@pytest.mark.t2
@pytest.mark.parametrize("bulk", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("page", [None, 16, 64])
@pytest.mark.parametrize(
    ("b", "sq", "keys", "h", "hk", "d"),
    [
        (4, 1, 2000, 32, 8, 128),
        (1, 4, 9000, 8, 1, 128),
        (2, 16, 700, 16, 4, 64),
        (3, 1, 300, 6, 6, 80),
    ],
)
def test_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch, b: int, sq: int, keys: int, h: int, hk: int, d: int,
    page: int | None, dtype: str, bulk: bool,
) -> None:  # fmt: skip
    torch = pytest.importorskip("torch")
    if not bulk:
        monkeypatch.setattr(interface, "_has_tensor_maps", lambda call: False)
    *arrays, table = operands(b, sq, h, hk, d, keys, page, np.float32)
    lengths = np.random.default_rng(1).integers(0, keys + 1, b).astype(np.int32)
    lengths[0] = keys
    kind = getattr(torch, dtype)
    q, k, v = (torch.from_numpy(x).cuda().to(kind) for x in arrays)
    on_gpu = [None if x is None else torch.from_numpy(x).cuda() for x in (lengths, table)]
    out, lse = decode_attention(q, k, v, on_gpu[0], block_table=on_gpu[1], return_lse=True)
    wide = [x.cpu().float().numpy() for x in (q, k, v)]
    want, logs = reference(*wide, lengths, d**-0.5, causal=True, table=table)
    step = 2e-2 if dtype == "float16" else 4e-2
    np.testing.assert_allclose(out.cpu().float().numpy(), want, rtol=step, atol=step / 4)
    np.testing.assert_allclose(lse.cpu().numpy(), logs, rtol=1e-4, atol=1e-4)


def test_lengths_and_pages_that_the_cache_does_not_have() -> None:
    q, k = np.zeros((1, 1, 2, 64), np.float16), np.zeros((3, 16, 2, 64), np.float16)

    def call(length: int, *pages: int) -> None:
        table = np.array([pages], np.int32)
        decode_attention(q, k, k, np.array([length], np.int32), block_table=table)

    for bad, text in (
        ((33, 0, 1), r"seqlens_k\[0\]"), ((-1, 0, 1), r"seqlens_k\[0\]"),
        ((17, 0, 3), r"block_table\[0, 1\]"), ((1, -1, 0), r"block_table\[0, 0\]"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=text) as e:
            call(*bad)
        assert e.value.code == "OC2570"
    with pytest.raises(ArgumentError, match="seqlens_k"):
        decode_attention(q, k[:1], k[:1], np.array([17], np.int32))
