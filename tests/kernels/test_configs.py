# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Configurations of operators whose fields have a wrong type or an impossible value."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.kernels.attention.config import (
    AttentionConfig,
    BackwardConfig,
    WarpgroupBackwardConfig,
    WarpgroupConfig,
)
from opencute.kernels.decode.config import DecodeConfig
from opencute.kernels.gemm.config import GemmConfig
from opencute.kernels.gemm.rows.few import FewConfig
from opencute.kernels.gemm.rows.gemv import GemvConfig
from opencute.kernels.gemm.sm90_plan import HopperConfig
from opencute.kernels.grouped_gemm.config import GroupedConfig
from opencute.kernels.mla.config import MlaConfig
from opencute.kernels.norm.config import ClusterRows
from opencute.kernels.norm.interface import rms_norm
from opencute.kernels.row_config import RowConfig

pytestmark = pytest.mark.t0

SMEM = 200 << 10
# A good configuration of each kind, and what says so.
GOOD: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "rows": (RowConfig(32, 8), lambda c: c.rows(256)),
    "rows of clusters": (ClusterRows(256, 8, 2), lambda c: c.part(4096)),
    "rows of clusters that stay": (ClusterRows(256, 8, 2, 2, 1), lambda c: c.part(4096)),
    "attention": (AttentionConfig(64, 32, 4), lambda c: c.check(64, SMEM)),
    "attention of warpgroups": (WarpgroupConfig(2, 64, 2), lambda c: c.check(64, SMEM)),
    "its derivatives": (BackwardConfig(64, 64, 4, 1), lambda c: c.check(64, SMEM)),
    "derivatives of warpgroups": (WarpgroupBackwardConfig(2, 1), lambda c: c.check(64, SMEM)),
    "decoding": (DecodeConfig(1, 1, 32, 2, 1), lambda c: c.check(64, None, SMEM)),
    "latent": (MlaConfig(2, 1), lambda c: c.check(64)),
    "product": (GemmConfig((64, 64, 32), (2, 2), 2), lambda c: c.check("f16", 16, SMEM)),
    "product on Hopper": (HopperConfig((128, 64)), lambda c: c.check()),
    "grouped product": (GroupedConfig((128, 64)), lambda c: c.check()),
    "product with a vector": (GemvConfig(32, 256, 2), lambda c: c.check()),
    "product of few rows": (FewConfig(2, 4, 1), lambda c: c.check()),
}


def wrong(value: Any) -> Iterator[Any]:
    """Values that a field with this one cannot have."""
    if isinstance(value, tuple):
        yield from (list(value), (*value, 1), tuple(map(float, value)), "ab", 7)
        yield from ((0,) * len(value), tuple(-x for x in value), (None,) * len(value))
    elif isinstance(value, bool):
        yield from ("yes", 2, None, 1.0)
    elif isinstance(value, str):
        yield from ("", value + "x", value.upper(), 1, None, True)
    elif isinstance(value, float):
        yield from ("1", float("nan"), -1.0, 1e30, None, True)
    else:
        yield from (-1, -8, 1 << 70, float(value), str(value), None, True)
        yield from (np.float32(value), np.array([value]))


@pytest.mark.parametrize("kind", GOOD)
def test_fields_that_are_wrong(kind: str) -> None:
    good, check = GOOD[kind]
    check(good)
    for field in dataclasses.fields(good):
        for value in wrong(getattr(good, field.name)):
            with pytest.raises(ArgumentError) as e:
                check(dataclasses.replace(good, **{field.name: value}))
            assert e.value.code.startswith("OC25"), (field.name, value)
            plain = isinstance(value, str) or value is None
            assert not plain or field.name in str(e.value), (field.name, value)


@pytest.mark.parametrize("kind", GOOD)
def test_numbers_of_numpy_are_numbers(kind: str) -> None:
    good, check = GOOD[kind]
    for field in dataclasses.fields(good):
        value = getattr(good, field.name)
        if type(value) is int:
            check(dataclasses.replace(good, **{field.name: np.int64(value)}))


@pytest.mark.parametrize(
    "config",
    [
        ClusterRows(256, 8, "2", 2),  # type: ignore[arg-type]
        ClusterRows(256, 8, 2, 2, 0),
        ClusterRows(256, 8, 2, 2, None),  # type: ignore[arg-type]
        ClusterRows(256, -8, 2),
        ClusterRows(256, 0, 2),
        RowConfig(256, 8, 0),
    ],
)
def test_an_operator_says_so(config: Any) -> None:
    x = np.ones((2, 4096), np.float16)
    with KNOBS.override(target="sim:sm_90a"), pytest.raises(ArgumentError) as e:
        rms_norm(x, config=config)
    assert e.value.code == "OC2503"
