# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What users of the field ran into in control flow and errors; numbers are of NVIDIA/cutlass."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import load_source, on_device
from opencute import cute
from opencute.base.errors import LanguageError, TypeMismatchError

pytestmark = pytest.mark.t0


def run(fn: Callable[..., Any], threads: int = 6, dtype: Any = np.int32) -> list[Any]:
    """`fn(thread)` in each thread of a block."""
    out, compiled = np.full(threads, -99, dtype), cute.jit(fn)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = compiled(i)

    on_device(body, out, block=threads)
    return out.tolist()


def test_3061_a_conditional_expression_in_a_lambda() -> None:
    def f(i):
        clamp = lambda v, top: top if v > top else v  # noqa: E731
        apply = lambda g, v: g(v, 3) if v > 0 else -1  # noqa: E731
        return apply(clamp, i)

    assert run(f) == [-1, 1, 2, 3, 3, 3]


def test_2781_const_expr_in_a_dynamic_else_is_pruned() -> None:
    def f(i):
        if i > 2:
            i = i * 2
        else:
            if cutlass.const_expr(False):
                i = missing_name  # noqa: F821
        return i

    assert run(f) == [0, 1, 2, 6, 8, 10]


def test_2531_a_list_that_a_branch_assigns() -> None:
    def f(i):
        items = [1, i]
        if i > 2:
            items = [i, 7]
        return items[0] * 10 + items[1]

    def other_length(i):
        items = [1, i]
        if i > 2:
            items = [i]
        return items[0]

    assert run(f) == [10, 11, 12, 37, 47, 57]
    with pytest.raises(TypeMismatchError, match="'items' has different kinds") as e:
        run(other_length)
    assert e.value.code == "OC1250" and e.value.loc is not None and "list" in str(e.value.found)


class Mma:
    """Like a tiled MMA: an object with fields that helpers set."""

    def __init__(self) -> None:
        self.fields = {"accumulate": False}
        self.calls = 0

    def set(self, name: str, value: Any) -> None:
        self.fields[name] = value


def test_3077_a_helper_that_changes_an_object_in_a_dynamic_branch() -> None:
    def use(mma):
        mma.set("accumulate", True)
        mma.calls += 1

    def f(i):
        mma = Mma()
        if i > 2:
            use(mma)
        for k in range(i):
            if k == 1:
                use(mma)
        return mma.calls * 10 + mma.fields["accumulate"]

    assert run(f) == [0, 0, 11, 21, 21, 21]


def test_3201_a_name_that_shares_its_scope_with_the_loop_variable() -> None:
    def f(i):
        acc = i
        for acc_i in range(4):
            acc = acc + acc_i
            k = acc_i
        for k in range(2):
            acc += k
        return acc * 10 + k

    assert run(f) == [(i + 7) * 10 + 1 for i in range(6)]


class Scheduler:
    def __init__(self, state: Any) -> None:
        self.state = state

    def advance(self, by: Any) -> None:
        self.state = self.state + by

    @cute.jit
    def run(self, by):
        self.advance(1)
        if by > 2:
            self.advance(by)
        self.advance(1)
        return self.state


def test_2647_a_method_that_assigns_around_a_dynamic_if() -> None:
    def f(i):
        s = Scheduler(i)
        total = s.run(i)
        while s.state < 9:
            s.run(1)
        return total * 100 + s.state

    def plain(i):
        total = state = i + 2 + (i if i > 2 else 0)
        while state < 9:
            state += 2
        return total * 100 + state

    assert run(f) == [plain(i) for i in range(6)]


def test_no_early_return_break_continue_of_the_limitations() -> None:
    def f(i):
        _ = 5
        for k in range(9):
            if k == 1:
                continue
            if k * k > i * 3:
                return k + _
            if k > 4:
                break
        return -1

    assert run(f) == [7, 7, 8, 9, 9, 9]


def test_a_variable_of_one_branch_is_an_error_only_where_it_is_used() -> None:
    """vLLM 51286, sglang 34433: None joined with a number."""

    def unused(i):
        best = None
        if i > 2:
            best = i
            late = best * 2
            i = late
        return i

    def used(i):
        best = None
        if i > 2:
            best = i
        return best + 1

    assert run(unused) == [0, 1, 2, 6, 8, 10]
    with pytest.raises(LanguageError, match="'best' is not bound on every path") as e:
        run(used)
    assert e.value.code == "OC1126" and isinstance(e.value, UnboundLocalError)
    line = used.__code__.co_firstlineno
    assert e.value.loc is not None and e.value.loc.line == line + 4
    assert f":{line + 2}" in str(e.value.found)  # where the paths meet


def test_branches_that_give_several_objects() -> None:
    """vLLM 45392: a dynamic if whose branches bind a tensor, a tuple and numbers together."""

    def f(i):
        t = cute.make_rmem_tensor(2, cutlass.Int32)
        t.fill(1)
        pair, n, flag = (0, i), 0, False
        if i > 1:
            t[0] = i
            pair, n, flag = (i, 2), i + 1, i > 3
        elif i == 1:
            pair = (9, 9)
        return t[0] + pair[0] * 10 + pair[1] * 100 + n * 1000 + flag * 5

    def plain(i):
        t, pair, n, flag = 1, (0, i), 0, False
        if i > 1:
            t, pair, n, flag = i, (i, 2), i + 1, i > 3
        elif i == 1:
            pair = (9, 9)
        return t + pair[0] * 10 + pair[1] * 100 + n * 1000 + flag * 5

    assert run(f) == [plain(i) for i in range(6)]


def test_a_static_prefix_of_and_is_folded() -> None:
    """quack, mixed_constexpr_if: a body under `const_expr(False) and dynamic` is never traced."""

    def f(i):
        if cutlass.const_expr(False) and i > 2:
            i = missing_name  # noqa: F821
        if cutlass.const_expr(True) and i > 2:
            i += 10
        if cutlass.const_expr(True) or missing_name:  # noqa: F821
            i += 100
        return i

    assert run(f) == [100, 101, 102, 113, 114, 115]


def test_slices_of_tensors() -> None:
    """quack, cute_tensor_indexing: `:` and `...` are as good as None."""
    a, out = np.arange(24, dtype=np.int32).reshape(2, 3, 4), np.zeros((3, 4), np.int32)

    def body(a: Any, o: Any) -> None:
        o[None, 0] = a[1, :, 0].load()
        o[:, 1] = a[1, None, 1].load()
        o[..., 2] = a[1, ..., 2].load()
        o[:, 3] = a[..., 3][1, :].load()

    on_device(body, a, out)
    assert out.tolist() == a[1].tolist()


def test_2532_an_attribute_that_a_function_sets_in_a_branch(tmp_path: Path) -> None:
    source = (
        "class Box:\n    v = 0\n\nbox = Box()\n\ndef put(n):\n    box.v = n * 3\n\n"
        "@cute.jit\ndef f(i):\n    if i > 1:\n        put(i)\n    return i + box.v\n"
    )
    f = load_source(source, tmp_path).f
    out = np.zeros(4, np.int32)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = f(i)

    on_device(body, out, block=4)
    assert out.tolist() == [0, 1, 8, 12]


def test_2676_a_layout_of_a_run_time_integer_changes_nothing() -> None:
    def f(i):
        n = cutlass.Int32(i)
        cute.make_layout(n)
        cute.make_layout((n, 4))
        if n > 2:
            n += 1
        return n

    assert run(f) == [0, 1, 2, 4, 5, 6]


@pytest.mark.parametrize("cls", [int, cutlass.Int32, cutlass.Int64, np.int64])
def test_2314_local_partition_takes_every_integer(cls: Any) -> None:
    out = np.zeros(8, np.int32)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        part = cute.local_partition(o, cute.make_layout(4), i)
        fixed = cute.local_partition(o, cute.make_layout(4), cls(0))
        part[1] = i + 1
        if i == 0:
            fixed[0] = 50

    on_device(cute.jit(body), out, block=4)
    assert out.tolist() == [50, 0, 0, 0, 1, 2, 3, 4]


def test_2314_an_index_that_is_no_integer_is_named() -> None:
    def body(o: Any) -> None:
        cute.local_partition(o, cute.make_layout(4), "x")

    with pytest.raises(Exception) as e:
        on_device(body, np.zeros(8, np.int32))
    assert not isinstance(e.value, AssertionError) and isinstance(e.value, TypeError)


def test_2699_the_order_of_imports_does_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "only_cute.py"
    file.write_text(
        "import opencute.cute as cute\nimport numpy as np\n"
        "from opencute.cute.runtime import from_dlpack\n\n"
        "@cute.kernel\ndef k(t: cute.Tensor):\n    t[0] = 7\n\n"
        "@cute.jit\ndef host(t: cute.Tensor):\n    k(t).launch(grid=1, block=1)\n\n"
        "out = np.zeros(1, np.int32)\nhost(from_dlpack(out))\nprint(out[0])\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(cute.__file__).parents[2])}
    command = [sys.executable, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == "7"


def test_a_run_time_flag_that_is_true_or_false() -> None:
    """A flag `is True` if it has that value, as it would be in Python; it never is None."""

    def f(i):
        flag, out = i > 2, 0
        if flag is True:
            out = out + 1
        if flag is False:
            out = out + 10
        if flag is not True:
            out = out + 100
        if False is not flag:
            out = out + 1000
        if (flag is None) | (flag is not None and flag is True):
            out = out + 10000
        if 0 < i is True:  # a number is not
            out = out - 1
        return out

    assert run(f) == [110, 110, 110, 11001, 11001, 11001]


def test_two_run_time_flags_are_one_where_their_values_are() -> None:
    def f(i):
        flag, other, out = i > 2, i > 1, 0
        if flag is other:
            out = out + 1
        if (flag is True) is not other:
            out = out + 10
        return out

    assert run(f) == [1, 1, 10, 1, 1, 1]
