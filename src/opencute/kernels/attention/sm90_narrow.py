# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Values of eight bits for attention with warpgroups, whose instructions want keys next to keys.

In: tiles (elements, keys) of values in shared memory as TMA brings them, elements of a key next to
each other. Out: the same with 16 keys of an element together, in the order in which a thread has
weights: it has two neighbours of each eight scores, and an instruction takes four at a time.

Three warps do it beside the one that loads. A thread reads four elements of 16 keys, and permutes
the bytes of four words at a time.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.attention.sm90 import WarpgroupPlan

__all__ = ["TURNERS", "turn_values"]

TURNERS = 96  # threads of the three warps


def _transposed(words: list[Any]) -> list[Any]:
    """Word i has byte i of each of four words."""
    prmt = cute.arch.prmt
    low, high = ([prmt(a, b, how) for a, b in (words[:2], words[2:])] for how in (0x5140, 0x7362))
    return [prmt(a, b, how) for a, b in (low, high) for how in (0x5410, 0x7632)]


@cute.jit
def turn_values(
    arrived: Any, turned: Any, raw: Any, sV: Any, order: Any, tid: Any,
    plan: cutlass.Constexpr[WarpgroupPlan],
):  # fmt: skip
    """All tiles of values of this block.

    Args:
        arrived, turned: pipelines of what TMA brings, and of what products take.
        raw, sV: shared memory of both, (elements, keys, places).
        tid: 0 to 95.
    """
    values, ready = arrived.make_consumer(), turned.make_producer()
    words = cute.recast_tensor(raw, cutlass.Int32)
    across = plan.head_dim // 4
    for turn in range(order.count()):
        tile, _, batch = order.tile(turn)
        places = order.places(tile, batch)
        start, count = places.tiles()
        for i in range(count):
            source, into = values.wait_and_advance(), ready.acquire_and_advance()
            for at in range(tid, across * (plan.n // 16), TURNERS):
                column, chunk = at % across, at // across
                left = places.keys - (start + count - 1 - i) * plan.n - 16 * chunk
                found = []
                for key in cutlass.range_constexpr(16):
                    word = words[column, 16 * chunk + key, source.index]
                    if cutlass.const_expr(order.ragged):  # what lies behind may be no number
                        word = cute.where(key < left, word, cutlass.Int32(0))
                    found.append(word)
                held = cute.make_rmem_tensor((4, 4), cutlass.Int32)  # keys, elements
                for t in cutlass.range_constexpr(4):
                    moved = _transposed([found[2 * t + x] for x in (0, 1, 8, 9)])
                    for element in cutlass.range_constexpr(4):
                        held[t, element] = moved[element]
                for element in cutlass.range_constexpr(4):
                    place = (4 * column + element, chunk, into.index)
                    piece = cute.local_tile(sV, (1, 16, 1), place)
                    cute.autovec_copy(
                        cute.recast_tensor(held[None, element], plan.types[2]),
                        cute.make_tensor(piece.iterator, cute.make_layout(16)),
                    )
            cute.arch.fence_proxy("async.shared", space="cta")
            into.commit()
            cute.arch.sync_warp()
            source.release()
