# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of lists of matrices on Hopper: where they are, for the device.

In: lists of arrays that fit. Out: one launch for all of them::

    multiply_lists(a, b, results, alpha=1.0, config=None)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opencute.base.bounded import Recent
from opencute.base.errors import ArgumentError
from opencute.compiler.targets import run_target
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import fill, item_bits, strides
from opencute.kernels.gemm.sm90_interface import address, for_tma, padded
from opencute.kernels.grouped_gemm.arguments import plan_of, room_for, tensor_of
from opencute.kernels.grouped_gemm.config import GroupedConfig, heuristic
from opencute.kernels.grouped_gemm.sm90 import list_gemm

__all__ = ["multiply_lists"]

_KEPT: Recent[Any, Any] = Recent(256)
"""Tables on a device, by what is in them; made by the stream that reads them."""
_CAPTURED: dict[Any, Any] = {}
"""Those that a CUDA graph reads, for as long as the process lives."""


def multiply_lists(
    a: Sequence[Any], b: Sequence[Any], out: Sequence[Any], *, alpha: float,
    config: GroupedConfig | None,
) -> None:  # fmt: skip
    """Do products.

    Args:
        a, b, out: (M, K), (K, N) and (M, N) of each; the last ones are row-major.
        alpha: a factor.
        config: the tiles, or None for a good choice.
    """
    groups: list[tuple[Any, Any, Any]] = []
    for x, y, d in zip(a, b, out, strict=True):
        if 0 in d.shape:
            continue
        if 0 in x.shape:
            fill(d, 0)
        else:
            groups.append((x, y.swapaxes(0, 1), d))
    if not groups:
        return
    majors = _major("a", [g[0] for g in groups], 0), _major("b", [g[1] for g in groups], 1)
    groups = [
        (*(_readable(t, major) for t, major in zip(g[:2], majors, strict=True)), g[2])
        for g in groups
    ]
    rows, widest = sum(int(g[2].shape[0]) for g in groups), max(int(g[2].shape[1]) for g in groups)
    config = (config or heuristic(rows, len(groups), widest)).check()
    table = _table(groups, (*majors, True))
    first = [t[None] for t in groups[0]]
    plan, extra = plan_of(config, (first[0], first[1], first[2]), alpha, majors)
    down, across = (-(-table[:, i] // config.tile[i]) for i in (0, 1))
    list_gemm(
        *(tensor_of(t, 2 if m else 1) for t, m in zip(first, (*majors, True), strict=True)),
        from_dlpack(_on_device(table, groups[0][0])).mark_layout_dynamic(), int(down @ across),
        extra, room_for(groups[0][0], plan), _reached(groups), plan,
    )  # fmt: skip


def _reached(groups: list[tuple[Any, Any, Any]]) -> Any:
    """All matrices, for the simulator; a GPU needs to know nothing of them."""
    if run_target().kind != "sim":
        return None
    return tuple(_known(t) for group in groups for t in group)


def _known(t: Any) -> Any:
    """A matrix as an argument."""
    steps = strides(t)
    if 1 not in steps:
        return from_dlpack(t)  # a single row, or column
    return from_dlpack(t).mark_layout_dynamic(leading_dim=1 if steps[1] == 1 else 0)


def _major(name: str, arrays: list[Any], turned: int) -> bool:
    """Whether matrices (rows, k) are contiguous along k.

    Args:
        turned: whether they were given as (k, rows).

    Raises:
        ArgumentError: some are, some are not.
    """
    for major in (True, False):
        along = 1 if major else 0
        if all(int(t.shape[along]) == 1 or strides(t)[along] == 1 for t in arrays):
            return major
    raise ArgumentError(
        f"matrices of {name} lie in memory in different orders", code="OC2584",
        expected="all contiguous along rows, or all along columns",
        found=[tuple(strides(t)[::-1] if turned else strides(t)) for t in arrays],
        hint="pass contiguous copies",
    )  # fmt: skip


def _readable(t: Any, major: bool) -> Any:
    """A matrix (rows, k) that TMA can read: itself, or a copy."""
    if for_tma(t[None], 2 if major else 1):
        return t
    if major:
        return padded(t[None])[0]
    return padded(t.swapaxes(0, 1)[None])[0].swapaxes(0, 1)


def _table(groups: list[tuple[Any, Any, Any]], majors: tuple[bool, bool, bool]) -> Any:
    """What `ListGroups` reads."""
    rows: list[list[int]] = []
    for group in groups:
        (m, k), n = group[0].shape, group[1].shape[0]
        apart: list[int] = []
        for t, major in zip(group, majors, strict=True):
            vec = 128 // item_bits(t)
            lead = strides(t)[0 if major else 1]
            # Of a single row it may be anything.
            apart.append(max(-(-lead // vec), 1) * vec)
        rows.append([int(m), int(n), int(k), *map(address, group), *apart])
    return np.array(rows, np.int64)


def _on_device(table: Any, like: Any) -> Any:
    """A table where an array is."""
    if not hasattr(like, "data_ptr"):
        return table
    import torch

    host = torch.from_numpy(table)
    if like.device.type != "cuda":
        return host
    key = (table.tobytes(), like.device, torch.cuda.current_stream(like.device).cuda_stream)
    kept, capturing = _KEPT.get(key), torch.cuda.is_current_stream_capturing()
    if kept is None:
        if capturing:
            raise ArgumentError(
                "where these matrices are is not on the device yet", code="OC2585",
                expected="a call with them on this stream before one is captured",
                hint="moe_gemm(a, b, offsets) needs none",
            )  # fmt: skip
        kept = _KEPT[key] = host.to(like.device)
    if capturing:
        _CAPTURED[key] = kept
    return kept
