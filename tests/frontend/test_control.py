# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Control flow by example: joins, loops and their variables, objects that change, returns."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.errors import LanguageError, TypeMismatchError

pytestmark = pytest.mark.t0


def run(fn: Callable[..., Any], threads: int = 4, dtype: Any = np.int32, *args: Any) -> list[Any]:
    """`fn(thread)` in each thread of a block; what it returns is stored."""
    out = np.full(threads, -99, dtype)
    compiled = fn if fn.__name__ == "<lambda>" else cute.jit(fn)

    def body(o: Any, *rest: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = compiled(i, *rest)

    on_device(body, out, *args, block=threads)
    return out.tolist()


def test_types_are_promoted_at_joins() -> None:
    def f(i):
        x = 1
        if i > 1:
            x = 2.5
        assert type(x) is cutlass.Float32
        y = cutlass.Int64(i) if i > 2 else i
        assert type(y) is cutlass.Int64
        return x * 2 + y

    assert run(f, 4, np.float32) == [2, 3, 7, 8]


def test_types_are_promoted_around_loops() -> None:
    def f(i):
        x, y = 0, 1
        for _ in range(i):
            x = x + 0.5
            y = y * cutlass.Int64(3)
        assert type(x) is cutlass.Float32 and type(y) is cutlass.Int64
        return x + y

    assert run(f, 4, np.float32) == [1.0, 3.5, 10.0, 28.5]


def test_equal_static_values_stay_static() -> None:
    def f(i):
        n, t = 4, (1, 2)
        if i > 0:
            n, t = 4, (1, 2)
        assert type(n) is int and t == (1, 2)
        return [0] * n == [0, 0, 0, 0]

    assert run(f) == [1] * 4


def test_a_variable_of_one_branch_is_an_error_only_where_it_is_used() -> None:
    def unused(i):
        if i > 1:
            late = i * 2
            i = late
        return i

    def used(i):
        if i > 1:
            late = i * 2
        return late

    assert run(unused) == [0, 1, 4, 6]
    with pytest.raises(UnboundLocalError, match="'late' is not bound on every path"):
        run(used)


def test_a_variable_of_a_loop() -> None:
    def runs(i):
        for k in range(3):
            last = k * i
        return last + k

    def may_not_run(i):
        for k in range(i):
            last = k
        return last

    assert run(runs) == [2, 4, 6, 8]
    with pytest.raises(UnboundLocalError, match="last"):
        run(may_not_run)


def test_a_loop_target_that_exists_before_keeps_its_last_value() -> None:
    def f(n):
        acc, i = cutlass.Int32(0), cutlass.Int32(-1)
        for i in cutlass.range(0, n):  # noqa: B007 - used after the loop
            acc = cutlass.Int32(1)
        return acc * 10 + i

    assert run(f) == [-1, 10, 11, 12]


@pytest.mark.parametrize(
    "bounds",
    [(5,), (2, 7), (0, 10, 3), (10, 0, -3), (3, 3), (5, 0), (-4, 4, 2), (0, -7, -2), (7, 7, -1)],
)
def test_ranges(bounds: tuple[int, ...]) -> None:
    def static(i):
        total = 0
        for k in range(*bounds):
            total = total * 3 + k + i
        return total

    def dynamic(i, *at):
        total = 0
        for k in cutlass.range(*(b[0] for b in at)):
            total = total * 3 + k + i
        return total

    want = [static(i) for i in range(4)]
    assert run(static) == want
    for cls in (np.int32, np.int64, np.int8):
        assert run(dynamic, 4, np.int32, *(np.array([b], cls) for b in bounds)) == want


def test_ranges_of_large_and_unsigned_numbers() -> None:
    def f(i):
        total = cutlass.Int64(0)
        for k in range(1 << 40, (1 << 40) + 3):
            total += k
        for k in range(cutlass.Uint32(0xFFFFFFFE), cutlass.Uint32(0xFFFFFFFF)):
            assert type(k) is cutlass.Uint32
            total += k
        for k in range(cutlass.Uint32(3), 0, -1):
            total += k
        return total

    assert run(f, 1, np.int64) == [3 * (1 << 40) + 3 + 0xFFFFFFFE + 6]


@pytest.mark.parametrize(
    "options", [{"unroll": 2}, {"unroll_full": True}, {"unroll": 1}, {"vectorize": True},
                {"prefetch_stages": 2}, {"pipelining": 1}],
)  # fmt: skip
def test_range_options_do_not_change_results(options: dict[str, Any]) -> None:
    def f(i):
        total = i
        for k in cutlass.range(7, **options):
            total += k * i
        return total

    assert run(f) == [22 * i for i in range(4)]


def test_constexpr_loops_and_branches() -> None:
    def f(i, n: cutlass.Constexpr):
        total = 0
        for k in cutlass.range_constexpr(1, n, 2):
            assert type(k) is int
            if cutlass.const_expr(k == 3):
                continue
            total += k * i
        for word in ("a", "bb"):
            total += len(word)
        i = 0
        while cutlass.const_expr(i < 3):
            i += 1
        return total + i if cutlass.const_expr(n > 2) else None

    assert run(lambda i: cute.jit(f)(i, 8)) == [6 + 13 * i for i in range(4)]


def test_const_expr_in_a_dynamic_else_is_pruned() -> None:
    def f(i):
        x = 0
        if i > 1:
            x = 1
        else:
            if cutlass.const_expr(False):
                x = undefined_name  # noqa: F821
        return x

    assert run(f) == [0, 0, 1, 1]


def test_while() -> None:
    def collatz(i):
        n, steps = i + 3, 0
        while n != 1 and steps < 50:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        else:
            steps += 100
        return steps

    assert run(collatz) == [107, 102, 105, 108]


def test_a_while_that_waits_has_an_empty_body() -> None:
    def f(i):
        n = cutlass.Int32(0)
        while (n := n + 1) < i * 3:
            pass
        return n

    assert run(f) == [1, 3, 6, 9]


def test_early_returns() -> None:
    def f(i):
        if i == 0:
            return 10
        y = i * 2
        if i == 1:
            return y
        elif i == 2:
            y += 5
        for _ in range(2):
            y += 1
        return y * 100

    assert run(f) == [10, 2, 1100, 800]


def test_a_return_without_value_ends_a_kernel() -> None:
    out = np.zeros(4, np.int32)

    def f(o):
        i, _, _ = cute.arch.thread_idx()
        if i >= 2:
            return
        o[i] = 7

    on_device(cute.jit(f), out, block=4)
    assert out.tolist() == [7, 7, 0, 0]


def test_conditions_stop_where_python_stops() -> None:
    table = np.array([5, 0, 7], np.int32)

    def f(i, t):
        inside = i < 3 and t[i] > 0  # no read past the end
        other = not (i >= 3 or t[i] == 0)
        return inside + other * 10 + (0 <= i < 2) * 100

    assert run(f, 5, np.int32, table) == [111, 100, 11, 0, 0]


def test_static_prefixes_fold() -> None:
    def f(i):
        if cutlass.const_expr(False) and nothing:  # noqa: F821
            i = 5
        flag = True and i > 0
        assert type(flag) is cutlass.Boolean
        return (False or i) + (None is None)

    assert run(f) == [1, 2, 3, 4]


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class State:
    count: Any
    inner: Any = None

    def step(self, by: Any) -> None:
        self.count = self.count + by


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    tag: str = "t"


class Counter:
    __secret = 3

    def __init__(self) -> None:
        self.n = 0
        self.log = [0, 0]
        self.__hidden = 2

    @cute.jit
    def bump(self, by):
        if by > 1:
            self.n = self.n + by * self.__secret
            self.log[1] = by
        return self.n + self.__hidden


def test_tuples_and_records_are_joined() -> None:
    def f(i):
        p, d, fr = Point(1, 2), {"a": 1}, Frozen(4)
        ns = types.SimpleNamespace(v=1)
        pair = [0, (1, 2)]
        if i > 1:
            p, d, fr = Point(i, 5), {"a": i}, Frozen(i)
            ns = types.SimpleNamespace(v=i)
            pair = [i, (1, i)]
        assert type(p) is Point and fr.tag == "t" and p.y is not None
        return p.x + p.y * 10 + d["a"] + fr.a + ns.v + pair[0] + pair[1][1]

    assert run(f) == [1 + 20 + 1 + 4 + 1 + 0 + 2] * 2 + [i * 6 + 50 for i in (2, 3)]


def test_objects_that_branches_and_loops_change() -> None:
    def f(i):
        s = State(0, State(1))
        c = Counter()
        items = [1, 2, 3]
        alias = items
        table = {"k": 0}
        if i == 1:
            s.step(5)
            items[0] = 10
        elif i == 2:
            s.inner.step(i)
            table["k"] += 4
        for k in range(i):
            s.count = s.count + k
            items[2] += 1
            c.bump(k)
        return s.count + s.inner.count * 10 + alias[0] + alias[2] * 100 + table["k"] + c.log[1]

    def plain(i):
        count, inner, first, third, k4, log = 0, 1, 1, 3 + i, 0, 0
        if i == 1:
            count, first = 5, 10
        elif i == 2:
            inner, k4 = 3, 4
        for k in range(i):
            count += k
            log = k if k > 1 else log
        return count + inner * 10 + first + third * 100 + k4 + log

    assert run(f) == [plain(i) for i in range(4)]


def test_helpers_that_change_their_arguments() -> None:
    def double(s):
        s.count = s.count * 2

    def f(i):
        s = State(i)
        if i > 1:
            double(s)
        return s.count

    assert run(f) == [0, 1, 4, 6]


def test_methods_with_private_names() -> None:
    def f(i):
        c = Counter()
        return c.bump(i) + c.n

    assert run(f) == [2, 2, 14, 20]


def test_closures_see_variables_change() -> None:
    def f(i):
        x = 1
        read = lambda: x * 10  # noqa: E731

        def add(n):
            nonlocal x
            x = x + n
            return x

        if i > 1:
            x = i
        y = add(1) if i > 2 else 0
        return read() + y

    assert run(f) == [10, 10, 20, 44]


def fact(n: int) -> int:
    return n * fact(n - 1) if n else 1


@cute.jit
def fibonacci(n: cutlass.Constexpr):
    if cutlass.const_expr(n < 2):
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def test_recursion_at_compile_time() -> None:
    assert run(lambda i: fact(5) + fibonacci(7) + i) == [133, 134, 135, 136]


def test_comprehensions_lambdas_and_star_arguments() -> None:
    def f(i, scale=2, *rest, offset=0, **named):
        items = [k * i for k in range(3) if k != 1]
        pick = (lambda a: a if a > 2 else -a)(i)
        return sum(items) * scale + pick + offset + sum(rest) + named.get("extra", 0)

    g = cute.jit(f)
    assert run(lambda i: g(i)) == [0, 3, 6, 15]
    assert run(lambda i: g(i, 3, 1, 1, offset=5, extra=10)) == [f(i, 3, 1, 1, offset=5, extra=10)
                                                              for i in range(4)]  # fmt: skip


def test_builtins_on_run_time_numbers() -> None:
    def f(i):
        x = cutlass.Float32(i) - 1.5
        return (
            int(x) + max(i, 2) + min(1, i, 5) + abs(i - 2) + bool(i) + int(float(i))
            + any([i == 1, i == 2]) + all(k < 3 for k in [i, 0]) + max([7, 3]) + min(4, 2)
            + max(k for k in (1, 5)) + any([]) + all([])
        )  # fmt: skip

    assert run(f) == [f(i) for i in range(4)]


def test_vectors_cross_branches_and_loops() -> None:
    out = np.zeros((4, 2), np.float32)

    def f(o):
        i, _, _ = cute.arch.thread_idx()
        v = cute.full((2,), 1.0)
        if i > 1:
            v = v * 3
        for k in range(i):
            v = v + k
        o[i, None] = v

    on_device(cute.jit(f), out, block=4)
    assert out[:, 0].tolist() == [1, 1, 4, 6]


def test_tensors_cross_branches() -> None:
    a, b, out = np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int32) + 10, np.zeros(4, int)

    def f(a, b, o):
        i, _, _ = cute.arch.thread_idx()
        t = a if i > 1 else b
        o[i] = t[i]

    on_device(cute.jit(f), a, b, out, block=4)
    assert out.tolist() == [10, 11, 2, 3]


def test_match_on_compile_time_tags() -> None:
    def f(i, tag):
        match tag:
            case Frozen(tag="x"):
                return i
            case Point(x=1):
                if i > 1:
                    i = 50
            case _:
                i = -1
        return i

    g = cute.jit(f)
    assert run(lambda i: g(i, Frozen(0, "x"))) == [0, 1, 2, 3]
    assert run(lambda i: g(i, Point(1, 2))) == [0, 1, 50, 50]
    assert run(lambda i: g(i, None)) == [-1] * 4


def test_what_cannot_be_joined() -> None:
    def kinds(i):
        x = 1
        if i > 1:
            x = "text"
        return x

    def returns(i):
        if i > 1:
            return (1, 2)
        return i

    def grows(i):
        items = [0]
        for k in range(i):
            items.append(k)
        return items[0]

    with pytest.raises(TypeMismatchError, match="variable 'x' has different kinds") as e:
        run(kinds)
    assert e.value.code == "OC1250" and e.value.hint
    with pytest.raises(TypeMismatchError, match="returns different kinds"):
        run(returns)
    with pytest.raises(LanguageError, match="OC1117"):
        run(grows)


def test_loops_that_are_left_under_const_expr_run_while_tracing() -> None:
    def f(i):
        n = 20
        for k in range(10):
            if cutlass.const_expr(k == 3):
                break
            i += k
        while True:
            n //= 2
            if cutlass.const_expr(n < 3):
                break
        assert type(n) is int and type(k) is int
        return i + n

    assert run(f) == [5, 6, 7, 8]


def test_the_same_functions_run_outside_of_kernels() -> None:
    """Compiled functions are Python for whoever calls the undecorated one."""

    def f(n):
        total = 0
        for k in cutlass.range(n):
            if k % 2 == 0:
                total += k
        return total

    assert f(7) == 12 and f(cutlass.Int32(7)) == 12
