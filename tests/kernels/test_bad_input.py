# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operators say which argument is wrong, whatever is wrong with it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.base.knobs import KNOBS
from opencute.kernels import (
    attention,
    cross_entropy,
    gemm,
    grouped_gemm,
    norm,
    reduce,
    scan,
    softmax,
    transpose,
)
from opencute.kernels.checked import checked

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.t0


def f32(*shape: int) -> Any:
    return torch.ones(shape)


def f16(*shape: int) -> Any:
    return torch.ones(shape, dtype=torch.float16)


Q, QV = f16(1, 64, 2, 64), f16(64, 2, 64)
CU = torch.tensor([0, 32, 64], dtype=torch.int32)
X, W = f32(4, 64), f32(64)
T = torch.zeros(4, dtype=torch.int64)
LENGTHS: dict[str, Any] = {
    "cu_seqlens_q": CU, "cu_seqlens_k": CU, "max_seqlen_q": 32, "max_seqlen_k": 32,
}  # fmt: skip

# What each operator takes; names of optional arrays stand in OPTIONAL.
CALLS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (softmax.softmax, {"x": X, "out": f32(4, 64)}),
    (softmax.softmax_backward, {"grad": X, "y": X, "out": f32(4, 64)}),
    (norm.layer_norm, {"x": X, "weight": W, "bias": W, "residual": X, "out": f32(4, 64)}),
    (norm.rms_norm, {"x": X, "weight": W, "residual": X, "out": f32(4, 64)}),
    (norm.layer_norm_backward, {"grad": X, "x": X, "weight": W, "prenorm_grad": X}),
    (norm.rms_norm_backward, {"grad": X, "x": X, "weight": W, "prenorm_grad": X}),
    *(
        (getattr(reduce, n), {"x": X, "axis": 1, "out": f32(4)})
        for n in ("sum", "mean", "max", "min")
    ),
    *((getattr(reduce, n), {"x": X, "axis": 1, "out": T}) for n in ("argmax", "argmin")),
    (scan.cumsum, {"x": X, "axis": 1, "out": f32(4, 64)}),
    (cross_entropy.cross_entropy, {"logits": X, "target": T}),
    (
        cross_entropy.cross_entropy_backward,
        {"grad": f32(4), "logits": X, "target": T, "lse": f32(4), "out": f32(4, 64)},
    ),
    (
        gemm.gemm,
        {
            "a": f16(64, 32), "b": f16(32, 64), "c": f16(64, 64), "bias": f16(64),
            "residual": f16(64, 64), "out": f16(64, 64),
        },
    ),
    (
        grouped_gemm.moe_gemm,
        {
            "a": f16(64, 32), "b": f16(2, 32, 64), "offsets": CU[1:], "bias": f16(2, 64),
            "out": f16(64, 64),
        },
    ),
    (
        grouped_gemm.moe_gemm_weights,
        {"a": f16(64, 32), "b": f16(64, 64), "offsets": CU[1:], "out": f16(2, 32, 64)},
    ),
    (transpose.transpose, {"x": X, "out": f32(64, 4)}),
    (attention.attention, {"q": Q, "k": Q, "v": Q, "out": f16(1, 64, 2, 64), "scale": 1.0}),
    (
        attention.attention_backward,
        {"grad": Q, "q": Q, "k": Q, "v": Q, "out": Q, "lse": f32(1, 2, 64)},
    ),
    (attention.attention_varlen, {"q": QV, "k": QV, "v": QV, **LENGTHS}),
    (
        attention.attention_varlen_backward,
        {"grad": QV, "q": QV, "k": QV, "v": QV, "out": QV, "lse": f32(2, 64), **LENGTHS},
    ),
]  # fmt: skip
OPTIONAL = {"weight", "bias", "residual", "prenorm_grad", "c", "scale", "axis"}
BAD: dict[str, Callable[[Any], Any]] = {
    "None": lambda v: None,
    "text": lambda v: "x",
    "list": lambda v: [1.0, 2.0],
    "sparse": lambda v: v.to_sparse(),
    "complex": lambda v: torch.zeros(v.shape, dtype=torch.complex64),
    "float8": lambda v: torch.zeros(v.shape).to(torch.float8_e4m3fn),
    "scalar": lambda v: torch.tensor(1).to(v.dtype),
    "five modes": lambda v: torch.zeros((2, 1, 1, 3, 17), dtype=v.dtype),
}


def cases() -> list[Any]:
    out: list[Any] = []
    for fn, kwargs in CALLS:
        for name, value in kwargs.items():
            for kind, make in BAD.items():
                optional = name in OPTIONAL or (name == "out" and kwargs.get("lse") is None)
                if kind == "None" and (optional or name == "out"):
                    continue
                if not isinstance(value, torch.Tensor) and kind not in ("None", "text", "list"):
                    continue
                # An operator on rows takes any number of them, and transposes what it is given.
                if kind in ("five modes", "complex", "float8") and fn is transpose.transpose:
                    continue
                out.append(pytest.param(fn, kwargs, name, make, id=f"{fn.__name__}-{name}-{kind}"))
    return out


@pytest.mark.parametrize(("fn", "kwargs", "name", "make"), cases())
def test_each_wrong_argument(fn: Any, kwargs: Any, name: str, make: Any) -> None:
    if fn.__name__ in ("sum", "mean", "max", "min", "argmax", "argmin", "cumsum"):
        given = kwargs[name]
        five = isinstance(given, torch.Tensor) and make(given) is not None
        if five and getattr(make(given), "ndim", 0) == 5 and name == "x":
            kwargs = {**kwargs, "out": f32(3)}  # any rank can be reduced, but not into this
    with KNOBS.override(target="sim"), pytest.raises(ArgumentError) as e:
        fn(**{**kwargs, name: make(kwargs[name])})
    assert e.value.code != "OC2000"


@pytest.mark.parametrize("fn", [c[0] for c in CALLS], ids=lambda f: f.__name__)
def test_operators_keep_their_signatures(fn: Any) -> None:
    assert fn.__doc__ and "args" not in inspect.signature(fn).parameters


def test_errors_of_other_kinds_pass() -> None:
    @checked(arrays="x", optional="y", integers="n", numbers="s")
    def fail(x: Any, y: Any = None, n: int = 3, s: float | None = None) -> None:
        raise ValueError("something else")

    x = np.zeros(3)
    with pytest.raises(ValueError, match="something else") as e:
        fail(x)
    assert type(e.value) is ValueError
    for args, code, says in (
        ((None,), "OC2530", "x is no array"),
        ((x, 3), "OC2530", "y is no array"),
        ((x, None, "3"), "OC2531", "n is no integer"),
        ((x, None, 3, "1"), "OC2531", "s is no number"),
        ((torch.zeros(3).to_sparse(),), "OC2532", "x is no dense array"),
    ):
        with pytest.raises(ArgumentTypeError, match=says) as e2:
            fail(*args)
        assert e2.value.code == code
    with pytest.raises(TypeError, match="unexpected keyword"):
        fail(x, z=3)


Y = np.arange(32, dtype=np.float32).reshape(4, 8)
SUMS: list[tuple[Callable[..., Any], Any]] = [
    (lambda x: reduce.sum(x, 0), Y.sum(0)),
    (lambda x: reduce.argmax(x), 31),
    (lambda x: scan.cumsum(x, 0), Y.cumsum(0)),
    (lambda x: transpose.transpose(x), Y.T),
    (lambda x: gemm.gemm(x, np.ascontiguousarray(Y.T)), Y @ Y.T),
]


@pytest.mark.parametrize("kind", [np.matrix, np.recarray])
@pytest.mark.parametrize("call", range(len(SUMS)))
def test_numpys_subclasses_are_arrays(kind: Any, call: int) -> None:
    """Matrices keep two axes whatever is done; those of records have no attribute `stride`."""
    fn, want = SUMS[call]
    with KNOBS.override(target="sim"):
        found = fn(Y.view(kind))
    assert type(found) is np.ndarray and np.array_equal(found, want)


STRANGE: list[tuple[Any, str, str]] = [
    (np.ma.masked_array(Y), "OC2010", "mask"),
    (Y.astype(">f4"), "OC2011", "byte order of x"),
    (np.float32(3), "OC2530", "x is no array"),
    (torch.ones(4, 8).to_sparse(), "OC2532", "x is no dense array"),
]


@pytest.mark.parametrize("case", range(len(STRANGE)))
@pytest.mark.parametrize("fn", [softmax.softmax, norm.rms_norm, reduce.sum, scan.cumsum])
def test_arrays_that_are_none(fn: Any, case: int) -> None:
    x, code, says = STRANGE[case]
    if isinstance(x, np.generic) and fn is not reduce.sum:
        return  # it has no axis, of which the operator tells
    with KNOBS.override(target="sim"), pytest.raises(ArgumentError, match=says) as e:
        fn(x)
    assert e.value.code == code


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("fn", [softmax.softmax, reduce.sum, transpose.transpose])
def test_nested_tensors_are_refused(fn: Any) -> None:
    x = torch.nested.nested_tensor([torch.ones(4), torch.ones(5)])
    with pytest.raises(ArgumentTypeError, match="x is no dense array") as e:
        fn(x)
    assert e.value.code == "OC2532" and e.value.hint == "pass x.to_padded_tensor(0.0)"


OPTIONS = [
    (fn, kwargs, name)
    for fn, kwargs in CALLS
    for name, p in inspect.signature(fn).parameters.items()
    if isinstance(p.default, bool | int | float) or name in ("eps", "scale", "axis")
]


@pytest.mark.parametrize(("fn", "kwargs", "name"), OPTIONS, ids=lambda c: getattr(c, "__name__", c))
def test_text_is_no_number(fn: Any, kwargs: Any, name: str) -> None:
    """``float("1e-5")`` is one, and any text is true."""
    with pytest.raises(ArgumentTypeError, match="OC2531") as e:
        fn(**{**kwargs, name: "1"})
    assert f"{fn.__name__}: {name} is no" in str(e.value)


@pytest.mark.parametrize("fn", [reduce.sum, scan.cumsum, transpose.transpose])
def test_tensors_that_torch_maps_over(fn: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="OC2532") as e:
        torch.vmap(fn)(f32(2, 4, 64))
    assert "x has no memory of its own" in str(e.value) and "torch.vmap" in str(e.value.hint)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # torch's own
@pytest.mark.parametrize("fn", [softmax.softmax, norm.rms_norm, reduce.sum])
def test_tensors_that_torch_takes_derivatives_of(fn: Any) -> None:
    for taken in (
        lambda: torch.func.grad(lambda x: fn(x).sum())(X),
        lambda: torch.func.vjp(fn, X),
        lambda: torch.func.jvp(fn, (X,), (X,)),
    ):
        with pytest.raises(ArgumentTypeError, match="OC2532") as e:
            taken()
        assert "inside of torch.func.grad, vjp or jvp" in str(e.value.found)
        assert "vmap" not in str(e.value)


def test_tensors_that_torch_traces_with() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    with KNOBS.override(target="sim"):
        for _ in range(3):  # what native code knows is asked too
            softmax.softmax(X)
        with pytest.raises(ArgumentError, match="OC2017"):
            make_fx(lambda x: softmax.softmax(x) * 2)(X)
        with pytest.raises(ArgumentTypeError, match="OC2532") as e:
            make_fx(lambda x: softmax.softmax(x), tracing_mode="fake")(X)
        assert "FakeTensor" in str(e.value.found) and "vmap" not in str(e.value)

        @torch.library.custom_op("opencute_tests::softmax", mutates_args=())
        def node(x: torch.Tensor) -> torch.Tensor:
            return softmax.softmax(x)

        graph = make_fx(lambda x: node(x) * 2)(X)  # as the hint says
        assert "opencute_tests.softmax" in graph.code
        x = torch.randn(4, 64)
        torch.testing.assert_close(graph(x), torch.softmax(x, -1) * 2)


def test_attention_that_torch_maps_over() -> None:
    q = f16(2, 1, 16, 2, 32)
    with pytest.raises(ArgumentTypeError, match="attention: q has no memory of its own"):
        torch.vmap(attention.attention)(q, q, q)


INPLACE = {
    "softmax": "x", "softmax_backward": "grad y", "layer_norm": "x residual",
    "rms_norm": "x residual", "cumsum": "x", "cross_entropy_backward": "logits",
    "gemm": "c residual", "attention": "q",
}  # fmt: skip


@pytest.mark.parametrize("numpy", [False, True])
@pytest.mark.parametrize(("fn", "kwargs"), CALLS, ids=lambda c: getattr(c, "__name__", ""))
def test_results_that_share_memory(fn: Any, kwargs: Any, numpy: bool) -> None:
    if "out" not in kwargs or fn.__name__ == "attention_backward":
        return
    if "backward" in fn.__name__ and "logits" not in kwargs and fn.__name__ != "softmax_backward":
        return
    given = {
        k: v.numpy() if numpy and isinstance(v, torch.Tensor) else v for k, v in kwargs.items()
    }
    out = given.pop("out")
    names = [k for k, v in given.items() if hasattr(v, "dtype") and v.dtype == out.dtype]
    allowed = INPLACE.get(fn.__name__, "").split()
    with KNOBS.override(target="sim"):
        for name in names:
            # Some elements of a larger piece of memory, shifted by a few.
            size = out.nbytes // out.itemsize
            whole = np.zeros(
                size + math.prod(given[name].shape) + 8, str(out.dtype).rpartition(".")[2]
            )
            part = whole[:size].reshape(tuple(out.shape))
            shared = whole[size // 2 :][: math.prod(given[name].shape)].reshape(
                tuple(given[name].shape)
            )
            pair = (part, shared) if numpy else map(torch.from_numpy, (part, shared))
            for a, b in (tuple(pair),):
                with pytest.raises(ArgumentError, match=f"out shares memory with {name}") as e:
                    fn(**{**given, "out": a, name: b})
                assert e.value.code == "OC2542"
            if name in allowed:
                same = given[name].copy() if numpy else given[name].clone()
                fn(**{**given, "out": same, name: same})
        one = np.zeros((1,) * out.ndim, str(out.dtype).rpartition(".")[2])
        wide = np.lib.stride_tricks.as_strided(one, tuple(out.shape), (0,) * out.ndim)
        wide = wide if numpy else torch.from_numpy(one).expand(out.shape)
        with pytest.raises(ArgumentError, match="share memory") as e:
            fn(**{**given, "out": wide})
        assert e.value.code == "OC2541"


def test_places_that_lie_between_each_other() -> None:
    """Columns of one array, neither of which is the other's."""
    both = np.ones((4, 64), np.float32)
    with KNOBS.override(target="sim"):
        softmax.softmax(both[:, :32], out=both[:, 32:])
        np.testing.assert_allclose(both[:, 32:], 1 / 32)
        square = np.ones((8, 8), np.float32)
        with pytest.raises(ArgumentError, match="expected: other memory"):
            transpose.transpose(square, out=square)


def test_elements_that_are_not_aligned() -> None:
    array = np.zeros(65, np.uint8)[1:].view(np.float32).reshape(2, 8)
    with KNOBS.override(target="sim"), pytest.raises(ArgumentError) as e:
        softmax.softmax(array)
    assert e.value.code == "OC2016"


def test_numbers_that_no_float_holds() -> None:
    with KNOBS.override(target="sim"), pytest.raises(ArgumentError, match="scale is no number"):
        attention.attention(Q, Q, Q, scale=10**400)


def test_an_axis_of_a_float() -> None:
    with KNOBS.override(target="sim"), pytest.raises(ArgumentError, match="axis is no integer"):
        scan.cumsum(X, 1.0)  # type: ignore[arg-type]


def test_windows_that_overlap() -> None:
    """Both of their axes are contiguous."""
    x = torch.arange(20.0).unfold(0, 8, 1)
    with KNOBS.override(target="sim"):
        assert torch.allclose(softmax.softmax(x), torch.softmax(x, -1), atol=1e-6)
        assert torch.equal(reduce.sum(x, 0), x.sum(0))


def test_a_gradient_of_one_element() -> None:
    """That of a sum, as torch gives it."""
    one = torch.ones((), dtype=torch.float16).expand(Q.shape)
    with KNOBS.override(target="sim"), pytest.raises(ArgumentError, match="axis of grad is not"):
        attention.attention_backward(one, Q, Q, Q, Q, f32(1, 2, 64))


def outputs(result: Any) -> list[Any]:
    parts: tuple[Any, ...] = result if isinstance(result, tuple) else (result,)
    return [np.asarray(p) for p in parts if p is not None]


@pytest.mark.parametrize(("fn", "kwargs"), CALLS, ids=lambda c: getattr(c, "__name__", ""))
def test_arrays_that_run_backwards(fn: Any, kwargs: Any) -> None:
    """One rule: inputs of NumPy are copied, results are refused."""
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {
        k: rng.standard_normal(v.shape).astype(str(v.dtype)[6:]) / 8 if v.is_floating_point()
        else v.numpy() for k, v in kwargs.items() if isinstance(v, torch.Tensor)
    }  # fmt: skip
    rest = {k: v for k, v in kwargs.items() if k not in given}
    result = given.pop("out", None) if "lse" not in given or "logits" in given else None
    with KNOBS.override(target="sim"):
        for name, value in given.items():
            if value.dtype != np.int32:
                for flipped in (np.flip(value, 0 if len(value) > 1 else 1),):
                    got = fn(**{**given, **rest, name: flipped})
                    want = fn(**{**given, **rest, name: flipped.copy()})
                    for x, y in zip(outputs(got), outputs(want), strict=True):
                        np.testing.assert_allclose(x, y, 1e-2, 1e-3, err_msg=name)
        if result is not None:
            axis = max(range(result.ndim), key=lambda i: result.shape[i])
            with pytest.raises(ArgumentError) as e:
                fn(**given, **rest, out=np.flip(result, axis))
            assert e.value.code in ("OC2015", "OC2501", "OC2524", "OC2582"), e.value.code


@pytest.mark.parametrize(("fn", "kwargs"), CALLS, ids=lambda c: getattr(c, "__name__", ""))
def test_a_result_that_is_read_only(fn: Any, kwargs: Any) -> None:
    """Of every operator that takes `out`; it is refused before anything is computed."""
    if "out" not in kwargs or fn in (
        attention.attention_backward, attention.attention_varlen_backward
    ):  # fmt: skip
        pytest.skip("no result, or one of another operator, which is read here")
    given = {n: a.numpy() if hasattr(a, "numpy") else a for n, a in kwargs.items()}
    given["out"] = given["out"].copy()
    given["out"].flags.writeable = False
    with KNOBS.override(target="sim"), pytest.raises(ArgumentError, match="OC2545") as e:
        fn(**given)
    assert f"{fn.__name__}: out is read-only" in str(e.value)


def test_a_read_only_result_by_place_and_a_read_only_input() -> None:
    x = np.ones((4, 64), np.float32)
    x.flags.writeable = False
    with KNOBS.override(target="sim"):
        assert softmax.softmax(x).shape == (4, 64)

        @checked(arrays="x", optional="out")
        def twice(x: Any, out: Any) -> Any:
            raise AssertionError

        for out in (x, [np.ones(4), x]):
            with pytest.raises(ArgumentError, match="twice: out is read-only"):
                twice(x, out)
