# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels for all processors with one thing left out, those that have no such test of their own:
the checking simulator says so, and says nothing of the kernels as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.kernels.attention import AttentionConfig, attention
from opencute.kernels.cross_entropy import cross_entropy
from opencute.kernels.decode import DecodeConfig, decode_attention
from opencute.kernels.gemm import FewConfig, GemmConfig, gemm
from opencute.kernels.hstu import hstu_attention
from opencute.kernels.row_config import RowConfig
from opencute.kernels.softmax import softmax

pytestmark = pytest.mark.t0

TILE, ROWS = GemmConfig((64, 64, 32), (2, 2), 3), RowConfig(64, 8)


def numbers(*shape: int, dtype: Any = np.float16) -> Any:
    return np.random.default_rng(list(shape)).integers(-3, 4, shape).astype(dtype)


def product(config: Any, m: int, n: int, k: int, dtype: Any = np.float16, **more: Any) -> Any:
    return gemm(numbers(m, k, dtype=dtype), numbers(n, k, dtype=dtype).T, config=config, **more)


def heads(queries: int, keys: int) -> list[Any]:
    return [numbers(1, n, 1, 64) for n in (queries, keys, keys)]


CALLS: dict[str, Callable[[], Any]] = {
    "product": lambda: product(TILE, 64, 64, 128, c=numbers(64, 64)),
    "read ahead": lambda: product(GemmConfig((64, 64, 32), (2, 2), 3, ahead=4), 64, 64, 128),
    "by fma": lambda: product(GemmConfig((64, 64, 8), (2, 1), 3), 64, 64, 40, np.float32),
    "few rows": lambda: product(FewConfig(1, 4, 1), 3, 9, 701),
    "attention": lambda: attention(*heads(32, 96), config=AttentionConfig(32, 32, 2)),
    "two stages": lambda: attention(*heads(32, 96), config=AttentionConfig(32, 32, 2, 2)),
    "hstu": lambda: hstu_attention(*heads(32, 96), config=AttentionConfig(32, 32, 2)),
    "decode": lambda: decode_attention(
        numbers(1, 1, 2, 64), numbers(1, 512, 1, 64), numbers(1, 512, 1, 64),
        config=DecodeConfig(2, 1, 16, 3, 8),
    ),
    "softmax": lambda: softmax(numbers(2, 512), config=ROWS),
    "cross entropy": lambda: cross_entropy(numbers(2, 512), np.zeros(2, np.int64), config=ROWS),
}  # fmt: skip

MEET, WAIT = "cute.arch.sync_threads()", "cute.arch.cp_async_wait_group(0)"
START = "cute.arch.cp_async_commit_group()"
PARTS, FEW, FLASH = "kernels.gemm.parts", "kernels.gemm.rows.few", "kernels.attention.sm80"
TILES, HSTU, OLDEST = "kernels.gemm.sm80", "kernels.hstu.sm80", "(self.stages - 2)\n"
FAULTS: dict[str, tuple[str, str, str, str, str]] = {
    # what is wrong: the call, the module, the text, what stands there instead, the report
    "wait for a copy": (
        "product", PARTS, "wait_group(self.stages - 2)", "wait_group(self.stages - 1)", "OC3402",
    ),
    "meeting between tiles": ("product", PARTS, f"{OLDEST}        {MEET}\n", OLDEST, "OC3401"),
    "meeting before C": ("product", TILES, f"    {MEET}\n    sD =", "    sD =", "OC3401"),
    "wait for C": (
        "product", TILES, f"    {START}\n    {WAIT}\n", f"    {START}\n", "OC3402",
    ),
    "meeting for C": ("product", TILES, f"    {WAIT}\n    {MEET}\n", f"    {WAIT}\n", "OC3401"),
    "meeting for results": ("product", TILES, f"    {MEET}\n    gD = ", "    gD = ", "OC3401"),
    "group of copies": (
        "read ahead", PARTS, f"        if commit:\n            {START}\n", "", "OC3402",
    ),
    "group of a tile": (
        "by fma", PARTS, f"stage, there)\n            {START}\n", "stage, there)\n", "OC3402",
    ),
    "meeting for the first rows": (
        "few rows", FEW, f"    {MEET}\n    chunks", "    chunks", "OC3401",
    ),
    "meeting for the next rows": (
        "few rows", FEW, f"+ 1, plan)\n        {MEET}\n", "+ 1, plan)\n", "OC3401",
    ),
    "meeting for sums": (
        "few rows", FEW, f"        {MEET}\n        finish(", "        finish(", "OC3401",
    ),
    "wait for K": ("attention", FLASH, f"{WAIT}\n    {MEET}  # K", f"{MEET}  # K", "OC3402"),
    "meeting for K": ("attention", FLASH, f"{MEET}  # K", "pass  # K", "OC3401"),
    "wait for V": ("attention", FLASH, f"{WAIT}\n        {MEET}  # V", f"{MEET}  # V", "OC3402"),
    "meeting for V": ("attention", FLASH, f"{MEET}  # V", "pass  # V", "OC3401"),
    "meeting for the output": (
        "attention", "kernels.attention.parts", f"    {MEET}\n    store", "    store", "OC3401",
    ),
    "meeting before the output": (
        "two stages", "kernels.attention.parts", f"{MEET}\n    cute.auto", "cute.auto", "OC3401",
    ),
    "wait for K of hstu": ("hstu", HSTU, f"{WAIT}\n    {MEET}  # K", f"{MEET}  # K", "OC3402"),
    "meeting for K of hstu": ("hstu", HSTU, f"{MEET}  # K", "pass  # K", "OC3401"),
    "meeting for V of hstu": ("hstu", HSTU, f"{MEET}  # V", "pass  # V", "OC3401"),
    "meeting for splits": (
        "decode", "kernels.decode.combine", f"{MEET}\n        if slot", "pass\n        if slot",
        "OC3401",
    ),
    "meeting for a row": ("softmax", "lib.rows", f"{MEET}\n        values", "values", "OC3401"),
    "meeting for a loss": (
        "cross entropy", "lib.rows", f"{MEET}\n        values", "values", "OC3401",
    ),
}  # fmt: skip


def report(call: str) -> str:
    """Code of what the checking simulator reports of a call; empty if it is content."""
    with KNOBS.override(target="sim:sm_80", sim_check=True):
        try:
            CALLS[call]()
        except OpenCuTeError as e:
            return e.code
    return ""


@pytest.mark.parametrize("call", list(CALLS))
def test_nothing_is_reported_without_a_fault(call: str) -> None:
    assert report(call) == ""


@pytest.mark.parametrize("fault", list(FAULTS))
def test_faults_are_reported(plant: Callable[[str, str, str], None], fault: str) -> None:
    call, module, text, other, code = FAULTS[fault]
    plant(f"opencute.{module}", text, other)
    assert report(call) == code
