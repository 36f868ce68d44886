# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pieces of kernels for one block of threads, and running them with and without checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opencute.dialects import arith, cute, ptx, ptx_memory, scf, smem
from opencute.dialects.cute import LayoutAttr
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value
from opencute.ir.types import F32, I1, I32, Type, VectorType
from opencute.sim import Buffer, Simulator
from sim.building import add, const, kernel_module, line, mul

Body = Callable[..., Any]


def tid() -> Value:
    return ptx.sreg("tid.x")


def bid() -> Value:
    return ptx.sreg("ctaid.x")


def shared(count: int, type: Type = F32, offset: int = 0, align: int = 16) -> Value:
    """`count` elements of shared memory."""
    width = getattr(type, "width", 32)
    raw = smem.smem_alloc(offset, count * width // 8, align)
    return cute.recast(raw, cute.PtrType(type, "smem", align))


def at(p: Value, index: Value) -> Value:
    type = p.type
    assert isinstance(type, cute.PtrType)
    return cute.ptr_add(p, index, max(getattr(type.element, "width", 8) // 8, 1))


def load(p: Value, index: Value) -> Value:
    return cute.load(at(p, index))


def store(value: Value, p: Value, index: Value) -> None:
    cute.store(value, at(p, index))


def flag_store(
    value: Value, p: Value, index: Value, sem: str = "release", scope: str = "gpu"
) -> None:
    ptx_memory.store(
        at(p, index), value, sem=sem, scope="" if sem in ("weak", "volatile") else scope
    )


def flag_load(p: Value, index: Value, sem: str = "acquire", scope: str = "gpu") -> Value:
    return ptx_memory.load(
        at(p, index), I32, sem=sem, scope="" if sem in ("weak", "volatile") else scope
    )


def sync(name: int = 0, count: int | None = None) -> None:
    ptx.bar_sync(const(name), None if count is None else const(count))


def arrive(name: int, count: int) -> None:
    ptx.bar_arrive(const(name), const(count))


def sync_warp(mask: int = -1) -> None:
    ptx.bar_warp_sync(const(mask))


def eq(a: Value, b: Value | int) -> Value:
    return arith.cmpi("eq", a, const(b) if isinstance(b, int) else b)


def lt(a: Value, b: Value | int) -> Value:
    return arith.cmpi("slt", a, const(b) if isinstance(b, int) else b)


def when(cond: Value, then: Body, orelse: Body = lambda: None) -> None:
    regions = []
    for make in (then, orelse):
        region, block = new_block()
        with insert_at(block):
            make()
            scf.yield_()
        regions.append(region)
    scf.if_(cond, (), *regions)


def choose(cond: Value, then: Body, orelse: Body, type: Type = I32) -> Value:
    regions = []
    for make in (then, orelse):
        region, block = new_block()
        with insert_at(block):
            scf.yield_([make()])
        regions.append(region)
    return scf.if_(cond, [type], *regions).results[0]


def loop(count: int | Value, body: Callable[[Value], Any]) -> None:
    region, block = new_block([I32])
    with insert_at(block):
        body(block.args[0])
        scf.yield_()
    upper = const(count) if isinstance(count, int) else count
    scf.for_(const(0), upper, const(1), [], region)


def spin(cond: Callable[[], Value], body: Body = lambda: None) -> None:
    """While the condition holds: the body."""
    before, block = new_block()
    with insert_at(block):
        scf.condition(cond(), [])
    after, block = new_block()
    with insert_at(block):
        body()
        scf.yield_()
    scf.while_([], [], before, after)


def run(
    inputs: Sequence[Type], body: Body, args: Sequence[Any], *, grid: int = 1, block: int = 64,
    smem_bytes: int = 0, check: bool = True, seed: int = 0, attributes: Any = None,
    sim: Simulator | None = None,
) -> Simulator:  # fmt: skip
    """Run a kernel; arrays go in as pointers to their memory."""
    sim = sim or Simulator(check=check, seed=seed)
    values = [
        Buffer.from_numpy(a, f"arg{i}").pointer() if isinstance(a, np.ndarray) else a
        for i, a in enumerate(args)
    ]
    module = kernel_module(inputs, body)
    sim.run_kernel(
        module, "kernel", (grid, 1, 1), (block, 1, 1), values, smem=smem_bytes,
        attributes=attributes,
    )  # fmt: skip
    return sim


__all__ = [
    "F32", "I1", "I32", "LayoutAttr", "Op", "VectorType", "add", "arrive", "at", "bid", "choose",
    "const", "eq", "flag_load", "flag_store", "kernel_module", "line", "load", "loop", "lt", "mul",
    "run", "shared", "spin", "store", "sync", "sync_warp", "tid", "when",
]  # fmt: skip
