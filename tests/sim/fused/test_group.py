# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A group gives the bits that the rules give, for every operation and every way inputs vary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.dialects import arith, cute
from opencute.dialects import math as mathd
from opencute.dialects.arith import CMPF, CMPI
from opencute.ir.core import Op, Value
from opencute.ir.types import F16, F32, F64, I8, I16, I32, I64, IntegerType, Type, VectorType
from opencute.sim.fused.emit import divisor, fusable
from opencute.sim.fused.group import Group, Patience
from opencute.sim.fused.writer import may_fuse
from opencute.sim.lanes import Lanes
from opencute.sim.memory import Buffer, SimPointer
from opencute.sim.registry import rule_of
from opencute.sim.values import dtype_of
from sim.building import const, function_module, kernel_module, launch, ptr, thread

pytestmark = pytest.mark.t1
I1 = IntegerType(1)
BLOCKS, THREADS = 3, 64
RNG = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(Patience, "least", 0)


def cases() -> list[Any]:
    """(name, operand types, what makes the operation)."""
    out: list[Any] = []
    for t in (I8, I16, I32, I64):
        for n in ("addi", "subi", "muli", "andi", "ori", "xori"):
            out.append((f"{n} {t}", [t, t], lambda a, b, n=n: arith.binary(n, a, b)))
        for n in CMPI:
            out.append((f"cmpi {n} {t}", [t, t], lambda a, b, n=n: arith.cmpi(n, a, b)))
        for to in (I8, I16, I32, I64):
            names = ("extsi", "extui") if to.width > t.width else ("trunci",)
            for n in names if to != t else ():
                out.append((f"{n} {t} {to}", [t], lambda a, n=n, to=to: arith.cast(n, a, to)))
    for n in ("divui", "remui", "divsi", "remsi", "floordivsi"):
        out.append((n, [I32, I32], lambda a, b, n=n: arith.binary(n, a, b)))
    for n in ("extsi", "extui"):
        out.append((f"{n} i1", [I1], lambda a, n=n: arith.cast(n, a, I32)))
    for t in (F16, F32, F64):
        for n in ("addf", "subf", "mulf", "divf"):
            out.append((f"{n} {t}", [t, t], lambda a, b, n=n: arith.binary(n, a, b)))
        for n in CMPF:
            out.append((f"cmpf {n} {t}", [t, t], lambda a, b, n=n: arith.cmpf(n, a, b)))
        out.append((f"select {t}", [I1, t, t], arith.select))
    out.append(("extf", [F16], lambda a: arith.cast("extf", a, F32)))
    out.append(("fma", [F32, F32, F32], mathd.fma))
    return out


CASES = cases()


def made(types: list[Type], make: Any) -> Op:
    found: list[Op] = []

    def body(*args: Value) -> list[Value]:
        result = make(*args)
        found.append(result.op)
        return []

    function_module(types, [], body)
    return found[0]


def values(type: Type, shape: tuple[int, ...]) -> Any:
    """Random bits; every fourth element is a special one."""
    dtype = dtype_of(type)
    if dtype.kind == "b":
        return RNG.integers(0, 2, shape).astype(np.bool_)
    bits = np.frombuffer(RNG.bytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape)
    if dtype.kind == "i":
        some = np.array([0, 1, -1, np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    else:
        tiny = np.finfo(dtype).smallest_subnormal
        some = np.array([0, -0.0, np.inf, -np.inf, np.nan, tiny, 1.5, np.finfo(dtype).max], dtype)
    special = some[RNG.integers(0, some.size, shape)]
    return np.where(RNG.integers(0, 4, shape) == 0, special, bits)


def same(a: Any, b: Any) -> bool:
    """The same bits, but for the payload of NaN."""
    assert a.dtype == b.dtype
    if a.dtype.kind == "f":
        nan = np.isnan(a)
        if (nan != np.isnan(b)).any():
            return False
        a, b = (np.where(nan, 0, x).view(f"i{x.dtype.itemsize}") for x in (a, b))
    return bool((a == b).all())


def group_of(op: Op) -> Group:
    rule = rule_of(op)
    return Group([op], [(rule.factory(op), rule.lanes)], list(op.operands), list(op.results), {},
                 lambda v: v)  # fmt: skip


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: CASES[i][0])
def test_bits_of_every_operation(case):
    """Each in one of the ways in which inputs vary: how they are read does not depend on it."""
    _, types, make = CASES[case]
    op = made(types, make)
    assert fusable(op)
    lanes = Lanes(None, BLOCKS, THREADS, np.arange(THREADS)[None], np.arange(BLOCKS)[:, None])
    group, rule = group_of(op), rule_of(op)
    shapes = [(BLOCKS, THREADS), (1, THREADS), (BLOCKS, 1), ()]
    for _ in range(3):
        args = []
        for i, t in enumerate(types):
            shape = (BLOCKS, THREADS) if i == 0 else shapes[(case + i) % 4]
            if divisor(op) == i:
                args.append(int(RNG.choice([1, 2, 3, 7, 8192, (1 << 31) - 1])))
                continue
            value = values(t, shape or (1,))
            args.append(value if shape else _scalar(value[0]))
        with np.errstate(all="ignore"):
            expected = group.functions[0][0](*([lanes] if rule.lanes else []), *args)
        (found,) = group(lanes, *args)
        assert same(lanes.full(expected), found), (args, expected, found)


def _scalar(value: Any) -> Any:
    if value.dtype.kind == "b":
        return bool(value)
    return int(value) if value.dtype.kind == "i" else value


@pytest.mark.parametrize("n", ["addf", "mulf"])
def test_vectors(n):
    t = VectorType(8, F16)
    op = made([t, t], lambda a, b: arith.binary(n, a, b))
    lanes = Lanes(None, BLOCKS, THREADS, np.arange(THREADS)[None], np.arange(BLOCKS)[:, None])
    group = group_of(op)
    a, b = (values(t, (BLOCKS, THREADS, 8)) for _ in range(2))
    with np.errstate(all="ignore"):
        expected = group.functions[0][0](a, b)
    (found,) = group(lanes, a, b)
    assert same(expected, found)
    assert group(lanes, a, b[:, :1]) is None  # varies in a way that there is no loop for


def test_pointers_keep_their_buffer():
    op = made([ptr(F32), I32], lambda p, i: cute.ptr_add(p, i, 4))
    lanes = Lanes(None, 1, THREADS, np.arange(THREADS)[None], 0)
    buffer = Buffer.from_numpy(np.zeros(4, np.float32))
    index = values(I32, (1, THREADS))
    (out,) = group_of(op)(lanes, SimPointer(buffer, 8), index)
    assert out.buffer is buffer
    assert (out.offset == 8 + 4 * index.astype(np.int64)).all()


@pytest.mark.parametrize("by", [0, -1])
def test_divisors_that_the_loop_does_not_take(by):
    op = made([I32, I32], lambda a, b: arith.binary("floordivsi", a, b))
    lanes = Lanes(None, 1, THREADS, np.arange(THREADS)[None], 0)
    a = values(I32, (1, THREADS))
    assert group_of(op)(lanes, a, by) is None
    assert group_of(op)(lanes, a, np.full((1, THREADS), 3, np.int32)) is None


def test_what_there_are_no_lines_for():
    assert not fusable(made([I64, I64], lambda a, b: arith.binary("divsi", a, b)))
    assert not fusable(made([F64, F64, F64], mathd.fma))
    ragged = made([VectorType(2, F32)], lambda a: arith.binary("addf", a, _pair()))
    assert fusable(ragged) and not may_fuse(ragged)


def _pair() -> Value:
    from opencute.ir.attributes import DenseAttr, FloatAttr

    t = VectorType(2, F32)
    return arith.constant_of(DenseAttr((FloatAttr(1.0, F32), FloatAttr(2.0, F32)), t), t)


def test_a_kernel_gives_the_same_numbers(monkeypatch):
    monkeypatch.setattr("opencute.sim.fused.writer.FEWEST", 0)
    x = RNG.integers(-5, 5, 256).astype(np.int32)

    def body(a: Value, out: Value) -> None:
        i = thread()
        v = cute.load(cute.ptr_add(a, i, 4))
        w = arith.binary("addi", arith.binary("muli", v, i), const(7))
        cute.store(arith.select(arith.cmpi("slt", w, const(9)), v, w), cute.ptr_add(out, i, 4))

    out = np.empty(256, np.int32)
    launch(kernel_module([ptr(I32), ptr(I32)], body), 4, 64, x, out)
    w = x * np.arange(256, dtype=np.int32) + 7
    assert (out == np.where(w < 9, x, w)).all()
