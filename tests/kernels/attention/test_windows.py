# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Windows in the code for every architecture: attention and its derivatives against NumPy, how many
tiles are visited, and on a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute.kernels.attention import (
    AttentionConfig,
    BackwardConfig,
    attention,
    attention_backward,
    attention_varlen,
    attention_varlen_backward,
    reference,
)
from opencute.kernels.attention.sm80 import AttentionPlan, tiles_begin, tiles_seen
from opencute.kernels.attention.sm80_backward import BackwardPlan, tiles_of_queries

t0, t2 = pytest.mark.t0, pytest.mark.t2
FORWARD = AttentionConfig(16, 16, 1)
TWO = AttentionConfig(16, 16, 1, stages=2)
BACKWARD = BackwardConfig(16, 16, 1, 1)


def near(got: Any, want: Any) -> None:
    """Within two roundings of the largest element."""
    np.testing.assert_allclose(got.astype(np.float64), want, atol=2.0**-9 * abs(want).max())


CASES = [
    # lengths, heads, window, causal, configuration, in order
    ((40, 40), (2, 1), (9, 3), False, FORWARD, True),
    ((40, 70), (1, 1), (20, None), False, TWO, False),  # one side, a place is not an index
    ((50, 30), (2, 1), (1, None), True, FORWARD, False),  # two keys each, and queries of none
    ((20, 60), (1, 1), (None, 17), False, TWO, False),
]


@t0
@pytest.mark.parametrize(("lengths", "heads", "window", "causal", "config", "ordered"), CASES)
def test_against_numpy(
    checked: None, random: Any, lengths: Any, heads: Any, window: Any, causal: bool, config: Any,
    ordered: bool,
) -> None:  # fmt: skip
    q, g = (random((1, lengths[0], heads[0], 32), np.float16) for _ in range(2))
    k, v = (random((1, lengths[1], heads[1], 32), np.float16) for _ in range(2))
    options = {"causal": causal, "window": window}
    out, lse = attention(q, k, v, return_lse=True, config=config, **options)
    want, logs = reference.attention(q, k, v, 32**-0.5, **options)
    near(out, want)
    np.testing.assert_allclose(lse, logs, rtol=1e-4, atol=1e-4)
    got = attention_backward(
        g, q, k, v, out, lse, config=BACKWARD, deterministic=ordered, **options
    )
    for x, right in zip(
        got, reference.attention_backward(g, q, k, v, 32**-0.5, **options), strict=True
    ):
        near(x, right)


@t0
def test_sequences_end_to_end(checked: None, random: Any) -> None:
    starts = [np.array(s, np.int32) for s in ((0, 20, 20, 41), (0, 30, 33, 50))]
    q, g = (random((41, 1, 32), np.float16) for _ in range(2))
    k, v = (random((50, 1, 32), np.float16) for _ in range(2))
    sizes = (*starts, 21, 30)
    out, lse = attention_varlen(q, k, v, *sizes, window=(5, 2), return_lse=True, config=FORWARD)
    wanted = reference.varlen(reference.attention, (q,), (k, v), *starts, 32**-0.5, window=(5, 2))
    near(out, np.concatenate([w[0][0] for w in wanted]))
    got = attention_varlen_backward(g, q, k, v, out, lse, *sizes, window=(5, 2), config=BACKWARD)
    wanted = reference.varlen(
        reference.attention_backward, (g, q), (k, v), *starts, 32**-0.5, window=(5, 2)
    )
    for i, x in enumerate(got):
        near(x, np.concatenate([w[i][0] for w in wanted]))


def seen_by(queries: int, keys: int, before: int | None, after: int | None) -> Any:
    ahead = np.arange(keys)[None] - np.arange(queries)[:, None] - (keys - queries)
    seen = np.ones((queries, keys), bool)
    if after is not None:
        seen &= ahead <= after
    return seen if before is None else seen & (ahead >= -before)


SHAPES = [
    (q, k, *w)
    for q, k in ((100, 100), (33, 150), (150, 33), (64, 64))
    for w in ((None, None), (None, 0), (20, 0), (5, 40), (70, 3), (0, None), (200, 200))
]


def number(x: Any) -> int:
    return int(x.value if hasattr(x, "value") else x)


@t0
@pytest.mark.parametrize(("queries", "keys", "before", "after"), SHAPES)
def test_no_tile_outside_is_visited(
    queries: int, keys: int, before: int | None, after: int | None
) -> None:
    # Every tile with something to see is visited, none of the others, and tiles that are not
    # masked have all: compared with the matrix of who sees whom.
    m, n = 32, 16
    seen = seen_by(queries, keys, before, after)
    plan = AttentionPlan(cutlass.Float16, 32, m, n, 1, False, 1, before=before, after=after)
    for block in range(-(-queries // m)):
        rows = seen[block * m : (block + 1) * m]
        first = block * m + keys - queries
        tiles, whole = tiles_seen(first, keys, plan)
        start, begin, whole = map(number, tiles_begin(first, tiles, whole, plan))
        tiles = number(tiles)
        assert start <= begin <= whole
        for t in range(-(-keys // n)):
            part = rows[:, t * n : (t + 1) * n]
            visited = start <= t < tiles
            assert part.any() == visited or (visited and rows.shape[0] < m)
            if begin <= t < whole:
                assert part.all() and part.shape[1] == n
    back = BackwardPlan(cutlass.Float16, 32, m, n, 1, 1, before, after, 1)
    for block in range(-(-keys // n)):
        columns = seen[:, block * n : (block + 1) * n]
        first, counts = tiles_of_queries(block * n, queries, keys, back)
        first, counts = number(first), [number(c) for c in counts]
        assert min(counts) >= 0
        for t in range(-(-queries // m)):
            part = columns[t * m : (t + 1) * m]
            visited = first <= t < first + sum(counts)
            partly = part.shape != (m, n)
            assert part.any() == visited or (visited and partly)
            if first + counts[0] <= t < first + counts[0] + counts[1]:
                assert part.all() and part.shape[1] == n


@t2
@pytest.mark.parametrize("window", [(300, 0), (200, 100), (None, 50), (0, None)])
@pytest.mark.parametrize(
    ("b", "sq", "sk", "h", "hk", "d"),
    [(2, 1024, 1024, 4, 4, 128), (1, 1000, 1300, 8, 2, 96), (1, 700, 500, 2, 2, 256)],
)
def test_on_a_gpu(b: int, sq: int, sk: int, h: int, hk: int, d: int, window: Any) -> None:
    torch = pytest.importorskip("torch")
    from opencute.kernels.attention.config import backward_heuristic, heuristic
    from opencute.utils import get_smem_capacity_in_bytes

    smem = get_smem_capacity_in_bytes()
    q, g = (torch.randn(b, sq, h, d, device="cuda", dtype=torch.float16) for _ in range(2))
    k, v = (torch.randn(b, sk, hk, d, device="cuda", dtype=torch.float16) for _ in range(2))
    out, lse = attention(q, k, v, window=window, return_lse=True, config=heuristic(d, smem))
    got = attention_backward(
        g, q, k, v, out, lse, window=window, config=backward_heuristic(d, smem)
    )
    wide = [x.float().requires_grad_() for x in (q, k, v)]
    heads = [x.transpose(1, 2) for x in wide]
    heads[1:] = (x.repeat_interleave(h // hk, 1) for x in heads[1:])
    seen = torch.from_numpy(seen_by(sq, sk, *window)).cuda()
    scores = (heads[0] @ heads[1].transpose(2, 3) * d**-0.5).masked_fill(~seen, -1e30)
    want = (torch.softmax(scores, -1) * seen @ heads[2]).transpose(1, 2)
    torch.testing.assert_close(out.float(), want, rtol=0, atol=4e-3)
    want.backward(g.float())
    for x, w in zip(got, wide, strict=True):
        bound = 4e-3 * float(w.grad.abs().max())
        torch.testing.assert_close(x.float(), w.grad, rtol=0, atol=bound)
