# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels that may start before the one before has ended: in order, and with one thing left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.base.errors import RaceError
from opencute.dialects.hopper import cluster as cl
from opencute.ir.attributes import UNIT
from opencute.ir.core import Value
from opencute.ir.types import I32
from opencute.sim import Simulator
from sim.building import ptr
from sim.sync.blocks import add, const, eq, line, load, run, store, sync, tid, when

pytestmark = pytest.mark.t0
P = ptr(I32, 4)
PDL = {"cute.use_pdl": UNIT}


def first(let: bool) -> Any:
    def body(x: Value) -> None:
        store(tid(), x, tid())
        if let:
            cl.griddepcontrol("launch_dependents")

    return body


def second(wait: str, *, write: bool = False) -> Any:
    def body(x: Value, out: Value) -> None:
        if wait == "all":
            cl.griddepcontrol("wait")
        if wait == "one":  # and the others hear of it
            when(eq(tid(), 0), lambda: cl.griddepcontrol("wait"))
            sync()
        with line(20):
            if write:
                store(const(1), x, tid())
            else:
                store(load(x, add(tid(), const(0))), out, tid())
        if wait == "late":
            cl.griddepcontrol("wait")

    return body


def both(let: bool, wait: str, attributes: Any, **options: Any) -> Any:
    sim = Simulator(check=True)
    x, out = np.zeros(64, np.int32), np.zeros(64, np.int32)
    run([P], first(let), [x], sim=sim)
    run([P, P], second(wait, **options), [x, out], sim=sim, attributes=attributes)
    return out


@pytest.mark.parametrize("wait", ["all", "one"])
def test_in_order(wait: str) -> None:
    assert both(True, wait, PDL).tolist() == list(range(64))
    both(True, wait, PDL, write=True)


def test_what_cannot_overlap() -> None:
    both(False, "", PDL)  # nobody lets it start early
    both(True, "", None)


@pytest.mark.parametrize("wait", ["", "late"])
@pytest.mark.parametrize("write", [False, True])
def test_the_wait_is_missing(wait: str, write: bool) -> None:
    with pytest.raises(RaceError, match="which kernel 'kernel' uses, without having waited") as e:
        both(True, wait, PDL, write=write)
    assert e.value.code == "OC3408" and e.value.loc is not None and e.value.loc.line == 20
