# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong names and wrong calls of this package have codes; those of the user's own are Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.errors import ArgumentTypeError, TypeMismatchError, UnknownNameError
from opencute.base.suggest import did_you_mean

pytestmark = pytest.mark.t0


def on_zeros(body: Any) -> None:
    on_device(body, np.zeros(8, np.float32))


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda t: t.layot, "did you mean layout?"),
        (lambda t: t.layout.strides, "did you mean stride?"),
        (lambda t: t.load().Shape, "did you mean shape"),
        (lambda t: t.load().sum(), "ReductionOp.ADD"),
        (lambda t: t.ndim, "cute.rank"),
        (lambda t: t.iterator.alignement, "did you mean alignment"),
        (lambda t: t[0].too(cutlass.Int32), "did you mean to?"),
        (lambda t: cutlass.Float32.widht, "did you mean width?"),
        (lambda t: cute.make_layout(4).getHierarchy, "Layout has no attribute"),
        (lambda t: cute.maek_layout(4), "did you mean make_layout"),
        (lambda t: cute.nvgpu.warp.MmaF16BF160p, "did you mean MmaF16BF16Op"),
    ],
)
def test_unknown_attributes(use: Any, says: str) -> None:
    with pytest.raises(UnknownNameError) as e:
        on_zeros(use)
    assert e.value.code == "OC1143" and says in str(e.value)
    assert isinstance(e.value, AttributeError) and e.value.name
    assert e.value.loc is not None and e.value.loc.file == __file__


class Mine:
    """A class of the user's."""

    def method(self, a: int) -> int:
        """Returns what it gets."""
        return a


def test_attributes_can_still_be_asked_for() -> None:
    def body(t: Any) -> None:
        assert not hasattr(t, "layot") and getattr(t, "layot", 3) == 3
        assert not hasattr(cute, "layot")
        try:
            t.layot  # noqa: B018
        except AttributeError:
            t[0] = 5

    x = np.zeros(8, np.float32)
    on_device(body, x)
    assert x[0] == 5


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda t: Mine().other, AttributeError),
        (lambda t: Mine().method(b=1), TypeError),
        (lambda t: Mine().method(), TypeError),
        (lambda t: (1).foo, AttributeError),
        (lambda t: len(3), TypeError),
        (lambda t: [][0], IndexError),
    ],
)
def test_the_users_own_mistakes_are_pythons(use: Any, error: type) -> None:
    with pytest.raises(error) as e:
        on_zeros(use)
    assert type(e.value) is error


@pytest.mark.parametrize(
    ("use", "code", "says"),
    [
        (lambda t: cute.make_rmem_tensor(4, dtyp=t.dtype), "OC1267", "did you mean dtype?"),
        (lambda t: t.load().reshape(shap=(2, 4)), "OC1267", "did you mean shape?"),
        (lambda t: cute.zipped_divide(t), "OC1268", "zipped_divide(target, tiler"),
        (lambda t: cute.size(t, 0, 1, 2, 3), "OC1268", "size("),
        (lambda t: cutlass.range(4, unrol=2), "OC1267", "did you mean unroll"),
        (lambda t: cutlass.range(4, unroll=1.5), "OC1269", "1.5"),
        (lambda t: cutlass.range("4"), "OC1253", "'4'"),
        (lambda t: cutlass.range(), "OC1268", "got 0"),
        (lambda t: cutlass.range_constexpr(4, unroll=2), "OC1267", "no argument 'unroll'"),
        (lambda t: cutlass.range_constexpr(1, 2, 3, 4), "OC1268", "got 4"),
        (lambda t: cutlass.range_constexpr("4"), "OC1253", "'4'"),
    ],
)
def test_wrong_calls(use: Any, code: str, says: str) -> None:
    with pytest.raises(TypeMismatchError) as e:
        on_zeros(use)
    assert e.value.code == code and says in str(e.value)
    assert e.value.loc is not None and e.value.loc.file == __file__


def test_a_function_of_the_users_with_one_of_our_names() -> None:
    def size(a: int) -> int:
        return a

    with pytest.raises(TypeError) as e:
        on_zeros(lambda t: size(b=2))
    assert type(e.value) is TypeError


@cute.jit
def helper(t: cute.Tensor, scale: float = 1.0):
    t[0] = scale


@cute.jit
def host(t: cute.Tensor, scale: cutlass.Constexpr = 1.0):
    pass


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda t: helper(t, scal=2.0), "did you mean scale?"),
        (lambda t: helper(), "misses argument 't'"),
        (lambda t: helper(t, 1.0, 2.0), "takes 2 arguments"),
    ],
)
def test_decorated_helpers(call: Any, says: str) -> None:
    with pytest.raises(ArgumentTypeError) as e:
        on_zeros(call)
    assert e.value.code == "OC2130" and says in str(e.value)
    assert e.value.loc is not None and e.value.loc.file == __file__


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"scal": 2.0}, "did you mean scale?"),
        ({"option": "--opt-level 2"}, "did you mean options?"),
        ({"zork": 1}, "host() has no argument 'zork'"),
    ],
)
def test_keywords_of_compile(kwargs: Any, says: str) -> None:
    with pytest.raises(ArgumentTypeError) as e:
        cute.compile(host, np.zeros(8, np.float32), **kwargs)
    assert e.value.code == "OC2130" and says in str(e.value)
    with pytest.raises(ArgumentTypeError):
        host(np.zeros(8, np.float32), **kwargs)


@pytest.mark.parametrize("options", [2, ["--opt-level 2"], cute.OptLevel(2)])
def test_options_that_are_no_text(options: Any) -> None:
    with pytest.raises(ArgumentTypeError) as e:
        cute.compile(host, np.zeros(8, np.float32), options=options)
    assert e.value.code == "OC2121"


def test_elements_of_vectors() -> None:
    shapes: list[Any] = []

    def body(t: Any) -> None:
        w = t.load()
        shapes.extend([w[...].shape, w[None].shape, w[:].shape])
        t.store(w[...] + w[3])

    x = np.arange(8, dtype=np.float32)
    on_device(body, x)
    assert shapes == [8, 8, 8] or shapes == [(8,)] * 3
    assert x.tolist() == [3.0 + k for k in range(8)]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("blcok", "did you mean block?"),
        ("max_threads", "did you mean maxThreads?"),
        ("_hiden", "did you mean _hidden?"),
        ("hiden", ""),
        ("zork", ""),
    ],
)
def test_did_you_mean(name: str, says: str) -> None:
    assert did_you_mean(name, ["grid", "block", "maxThreads", "_hidden"]) == says


@pytest.mark.parametrize(
    "use",
    [
        lambda t: cute.arch.thread_idx() - 1,
        lambda t: 2 * t[0] < cute.arch.thread_idx(),
        lambda t: -cute.arch.block_idx(),
        lambda t: cute.arch.thread_idx() // 4,
    ],
)
def test_a_tuple_is_no_number(use: Any) -> None:
    with pytest.raises(TypeMismatchError, match=r"\[OC1288\] a tuple is no number") as e:
        on_zeros(use)
    assert "thread_idx()[0]" in str(e.value)


def test_variables_that_are_tuples_are_shown() -> None:
    def use(t: Any) -> None:
        at = cute.arch.thread_idx()
        t[at % 2] = 0.0

    with pytest.raises(TypeMismatchError, match="OC1288") as e:
        on_zeros(use)
    assert e.value.found == "at = (Int32(?), Int32(?), Int32(?))"


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (lambda t: None, "None has no elements"),
        (lambda t: 3, "an int has no elements"),
        (lambda t: t.iterator, "a Pointer has no elements"),
        (lambda t: cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32),
         "a CopyAtom has no elements"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("write", [False, True])
def test_what_has_no_elements_is_not_indexed(what: Any, says: str, write: bool) -> None:
    def use(t: Any) -> None:
        x = what(t)
        if write:
            x[0] = 1.0
        else:
            t[0] = x[0]

    with pytest.raises(TypeMismatchError, match=r"\[OC1289\]") as e:
        on_zeros(use)
    assert says in str(e.value) and str(e.value.found).startswith("x = ")


def test_what_python_says_of_the_users_own_objects_stays() -> None:
    class Own:
        pass

    for use in (lambda t: Own()[0], lambda t: "a" - 1, lambda t: Own() < 1):
        with pytest.raises(TypeError) as e:
            on_zeros(use)
        assert not isinstance(e.value, TypeMismatchError)
