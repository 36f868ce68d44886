# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Code of attention for decoding, at default choices: nothing spilled."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.arch.target import target
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.cute.runtime import from_dlpack
from opencute.kernels.decode import sm80, sm90
from opencute.kernels.decode.config import Work, heuristic
from opencute.kernels.decode.parts import DecodePlan

pytestmark = pytest.mark.t1
E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


@cache
def compiled(
    arch: str, rows: int, queries: int, page: int | None, bulk: bool, size: int,
    stored: Any = None, pairs: int = 32,
) -> Artefacts:  # fmt: skip
    """The kernels for `rows` rows of `size` elements, with splits.

    Args:
        stored: NumPy's type of keys and values, of eight bits; None: that of queries.
    """
    work = Work(rows, size, 4096, pairs, page, 132, 16 if stored is None else 8)
    config = heuristic(work, target(arch).max_smem)
    config = replace(config, splits=max(config.splits, 2))
    cache = {None: None, E4M3: cutlass.Float8E4M3FN, E5M2: cutlass.Float8E5M2}[stored]
    plan = DecodePlan(
        cutlass.BFloat16, size, config, queries, rows // queries, True, page, cache
    )  # fmt: skip
    heads = rows // queries
    own, cached = (1, queries, heads, size), (1, 64, 1, size)
    shapes = (own, cached, cached, own)
    own_type = ml_dtypes.bfloat16
    cached_type = own_type if stored is None else stored
    arrays = [
        from_dlpack(np.zeros(s, t)).mark_layout_dynamic(leading_dim=3)
        for s, t in zip(shapes, (own_type, cached_type, cached_type, own_type), strict=True)
    ]
    logs, lengths = np.zeros((1, heads, queries), np.float32), np.zeros(1, np.int32)
    table = None if page is None else np.zeros((1, 1), np.int32)
    parts = np.zeros((config.splits, *shapes[0]), np.float32)
    part_logs = np.zeros((config.splits, *logs.shape), np.float32)
    args: tuple[Any, ...] = (*arrays, logs, lengths, table, parts, part_logs, 1.0, plan)
    launch = (sm90 if bulk else sm80).decode_forward
    with KNOBS.override(target="sim"):
        return cute.compile[cute.GPUArch(arch)](launch, *args).artefacts


@pytest.mark.parametrize(
    ("arch", "rows", "queries", "page", "size"),
    [
        ("sm_80", 4, 1, None, 128), ("sm_86", 64, 8, 32, 128), ("sm_89", 4, 1, 16, 128),
        ("sm_120a", 32, 4, None, 128), ("sm_80", 8, 1, None, 256),
    ],
)  # fmt: skip
def test_cp_async_has_no_spills(
    arch: str, rows: int, queries: int, page: int | None, size: int
) -> None:
    no_spills(compiled(arch, rows, queries, page, False, size))


@pytest.mark.parametrize(
    ("arch", "rows", "queries", "page", "size"),
    [
        ("sm_90a", 4, 1, None, 128), ("sm_90a", 64, 8, 32, 128), ("sm_100a", 4, 1, 16, 128),
        ("sm_90a", 16, 1, None, 256), ("sm_90a", 4, 1, None, 192),
    ],
)  # fmt: skip
def test_bulk_loads_have_no_spills(
    arch: str, rows: int, queries: int, page: int | None, size: int
) -> None:
    no_spills(compiled(arch, rows, queries, page, True, size))


@pytest.mark.parametrize("stored", [E4M3, E5M2])
@pytest.mark.parametrize(
    ("rows", "size", "pairs"), [(4, 128, 512), (4, 256, 4), (4, 256, 512), (64, 128, 32)]
)
def test_narrow_keys_have_no_spills(rows: int, size: int, pairs: int, stored: Any) -> None:
    """At the choices for few and for many sequences."""
    no_spills(compiled("sm_90a", rows, 1, None, True, size, stored, pairs))


@pytest.mark.parametrize(("arch", "bulk"), [("sm_100a", True), ("sm_120a", False)])
def test_narrow_keys_on_later_processors_have_no_spills(arch: str, bulk: bool) -> None:
    no_spills(compiled(arch, 4, 1, None, bulk, 128, E4M3))


def no_spills(made: Artefacts) -> None:
    for name, report in made.kernel_info.items():
        assert report.spill_loads == report.spill_stores == report.stack == 0, (name, report)
    assert ".local" not in made.ptx
