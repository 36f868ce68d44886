# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The version of the CUDA toolkit that makes machine code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.errors import ArgumentError, MissingPieceError
from opencute.codegen.toolchain import Tool
from opencute.compiler import toolkit

pytestmark = pytest.mark.t0


@pytest.mark.parametrize(
    ("bounds", "inside"),
    [
        ({"min_version": "13.1"}, False), ({"min_version": "13.0"}, True),
        ({"min_version": "12.9"}, True), ({"min_version": "13"}, True),
        ({"max_version": "13"}, True), ({"max_version": "12.9"}, False),
        ({"exact_version": "13.0"}, True), ({"exact_version": "13.0.88"}, True),
        ({"exact_version": "13.0.89"}, False), ({"min_version": "9.2", "max_version": "14"}, True),
    ],
)  # fmt: skip
def test_bounds(bounds: Any, inside: bool, monkeypatch: Any) -> None:
    tool = Tool(Path("ptxas"), (13, 0, 88), "here")
    monkeypatch.setattr(toolkit, "find_ptxas", lambda: tool)
    assert cutlass.target_version(**bounds) is inside


def test_without_a_toolkit(monkeypatch: Any) -> None:
    def none() -> Any:
        raise MissingPieceError("no ptxas", code="OC5000")

    monkeypatch.setattr(toolkit, "find_ptxas", none)
    assert cutlass.target_version(min_version="12.0")


@pytest.mark.parametrize("bounds", [{}, {"min_version": "new"}, {"max_version": "13."}])
def test_what_is_no_version(bounds: Any) -> None:
    with pytest.raises(ArgumentError) as e:
        cutlass.target_version(**bounds)
    assert e.value.code == "OC2239"


def test_small_names() -> None:
    """Names of the published interface that lead to what there is."""
    assert cute.arch.Arch.sm_100 is cutlass.base_dsl.arch.Arch.sm_100
    assert cute.core.slice_ is cute.slice_ and cute.core.AddressSpace is cute.AddressSpace

    def body(t: Any) -> None:
        v = cutlass.full([4], 1.5, cutlass.Float32)
        assert cute.size(v.shape) == 4 and v.dtype is cutlass.Float32
        t.store(v + cutlass.full(4, 1.0))

    x = np.zeros(4, np.float32)
    on_device(body, x)
    assert x.tolist() == [2.5] * 4
