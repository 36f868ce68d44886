# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Configurations of products: what is chosen, what is possible."""

from __future__ import annotations

import pytest

from opencute.base.errors import ArgumentError
from opencute.kernels.gemm.config import GemmConfig, Problem, heuristic, search_space

pytestmark = pytest.mark.t0
KINDS = {"f32": 32, "tf32": 32, "f16": 16, "bf16": 16, "i8": 32}
SMEM = {"sm_80": 166912, "sm_86": 101376, "sm_90": 232448}


@pytest.mark.parametrize("smem", list(SMEM.values()), ids=list(SMEM))
@pytest.mark.parametrize(("kind", "bits"), list(KINDS.items()))
@pytest.mark.parametrize("extent", [1, 100, 1024, 8192])
def test_the_heuristic_is_always_possible(kind: str, bits: int, smem: int, extent: int) -> None:
    problem = Problem(extent, extent, extent, 1, kind, bits)
    config = heuristic(problem, smem)
    assert config.check(kind, bits, smem) is config


def test_small_products_get_small_tiles() -> None:
    small, large = (heuristic(Problem(x, x, x, 1, "f16", 16), 232448) for x in (512, 8192))
    assert small.tile[0] * small.tile[1] < large.tile[0] * large.tile[1]


@pytest.mark.parametrize(("kind", "bits"), list(KINDS.items()))
def test_the_search_space_has_only_possible_choices_and_each_once(kind: str, bits: int) -> None:
    found = list(search_space(Problem(4096, 4096, 4096, 1, kind, bits), SMEM["sm_86"]))
    assert len(found) > 10 and len(set(found)) == len(found)
    assert all(c.smem_bytes(kind, bits) <= SMEM["sm_86"] for c in found)


def test_impossible_choices_say_why() -> None:
    with pytest.raises(ArgumentError, match="warps"):
        GemmConfig((64, 64, 8), (8, 8), 3).check("f16", 16, 232448)
    with pytest.raises(ArgumentError, match="shared memory"):
        GemmConfig((256, 128, 64), (4, 2), 5).check("f16", 16, 232448)
