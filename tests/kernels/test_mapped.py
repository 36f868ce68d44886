# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operators on rows inside of `torch.vmap`: what a loop over the batch gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.kernels.norm import layer_norm, rms_norm
from opencute.kernels.softmax import softmax, softmax_backward

torch: Any = pytest.importorskip("torch")

pytestmark = pytest.mark.t0


@pytest.fixture(autouse=True)
def simulator() -> Iterator[None]:
    with KNOBS.override(target="sim"):
        yield


def rows(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


X, W = rows(3, 4, 64), rows(64)
CALLS: list[tuple[Callable[..., Any], Any, Any]] = [
    (softmax, (X,), (0,)),
    (softmax, (X,), (1,)),
    (lambda x: softmax(x=x), (X,), (0,)),
    (softmax, (rows(5, 64),), (0,)),  # of single rows
    (softmax_backward, (X, X), (0, 0)),
    (softmax_backward, (X[0], X), (None, 0)),
    (layer_norm, (X, W, W), (0, None, None)),
    (rms_norm, (X, W), (1, None)),
    (lambda x, r: rms_norm(x, W, residual=r), (X, X[0]), (0, None)),
]


def same(a: Any, b: Any) -> None:
    if isinstance(a, tuple):
        for x, y in zip(a, b, strict=True):
            same(x, y)
        return
    torch.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.mark.parametrize(("fn", "arrays", "dims"), CALLS)
def test_a_batch_is_more_rows(fn: Any, arrays: Any, dims: Any) -> None:
    size = next(a.shape[d] for a, d in zip(arrays, dims, strict=True) if d is not None)
    each = [
        fn(*(a if d is None else a.select(d, i) for a, d in zip(arrays, dims, strict=True)))
        for i in range(size)
    ]
    want = (
        tuple(map(torch.stack, zip(*each, strict=True)))
        if isinstance(each[0], tuple)
        else torch.stack(each)
    )
    same(torch.vmap(fn, in_dims=dims)(*arrays), want)


def test_batches_of_batches() -> None:
    x = rows(2, 3, 4, 64)
    same(torch.vmap(torch.vmap(softmax))(x), softmax(x))


def test_what_differs_or_is_given_is_refused() -> None:
    with pytest.raises(ArgumentError, match="rms_norm: weight differs along the axis") as e:
        torch.vmap(rms_norm)(X, torch.stack([W, W, W]))
    assert e.value.code == "OC2532"
    with pytest.raises(ArgumentError, match=r"inside of torch\.vmap there is no out"):
        torch.vmap(lambda x: softmax(x, out=torch.empty(4, 64)))(X)


def test_gradients_are_not_lost_without_a_word() -> None:
    x = X.clone().requires_grad_()
    with pytest.raises(ArgumentError, match="OC2013"):
        torch.vmap(softmax)(x).sum().backward()


def test_errors_are_those_of_the_operator() -> None:
    with pytest.raises(ArgumentError, match="OC2507"):
        torch.vmap(softmax)(X.to(torch.float64))
