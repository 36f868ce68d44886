# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operators on rows inside of `torch.vmap`: a batch is more rows.

In: an operator, and the arguments of a call. Out: its result, or None where nothing is mapped
over::

    torch.vmap(softmax)(x)       # softmax(x), whatever axis of x is the batch's

Besides, `inside_of` says what kind of tensor without memory an argument is, for messages.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import ArgumentError

__all__ = ["inside_of", "over_batches"]


def _is(kind: str, tensor: Any) -> bool:
    """Whether a tensor is one of torch.func's: "batched" or "gradtracking"."""
    torch: Any = sys.modules.get("torch")
    functorch = getattr(getattr(torch, "_C", None), "_functorch", None)
    asked = getattr(functorch, f"is_{kind}tensor", None)
    return asked is not None and isinstance(tensor, torch.Tensor) and bool(asked(tensor))


def inside_of(tensor: Any) -> tuple[str, str]:
    """What a tensor without memory is, and what to do about it.

    Returns:
        For the error: what was found, and a hint.
    """
    kind = type(tensor).__name__
    if _is("batched", tensor):
        return f"{kind} inside of torch.vmap", (
            "kernels cannot see into such tensors: call the operator on the whole array, outside "
            "of torch.vmap, with its own axes for batches"
        )
    if _is("gradtracking", tensor):
        return f"{kind} inside of torch.func.grad, vjp or jvp", (
            "kernels have no derivatives that torch.func could take: compute the gradient with the "
            "operator's ..._backward, where it has one, or wrap both in a torch.autograd.Function"
        )
    return kind, (
        "it has a shape and no elements, as what torch traces with: run the operator on real "
        "tensors; graphs show it as one node if it is wrapped by torch.library.custom_op"
    )


@dataclass(frozen=True, eq=False)
class _Call:
    """An operator with all of its arguments but the arrays."""

    fn: Callable[..., Any]
    rest: dict[str, Any]
    names: tuple[str, ...]
    rows: frozenset[str]

    def __call__(self, arrays: tuple[Any, ...]) -> Any:
        return self.fn(**self.rest, **dict(zip(self.names, arrays, strict=True)))

    def batch(self, name: str, array: Any, dim: int | None, size: int) -> Any:
        """An array with the batch's axis in front, where it has one."""
        if name in self.rows:
            whole = array.expand(size, *array.shape) if dim is None else array.movedim(dim, 0)
            return whole.contiguous()
        if dim is not None:
            raise ArgumentError(
                f"{self.fn.__name__}: {name} differs along the axis that torch.vmap maps over",
                code="OC2532", expected="one for all rows: in_dims=None",
                hint="call the operator in a loop over that axis",
            )  # fmt: skip
        return array


@functools.cache
def _function() -> Any:
    torch: Any = sys.modules["torch"]

    class Rows(torch.autograd.Function):
        """An operator as a function that torch.vmap has a rule for."""

        @staticmethod
        def forward(call: _Call, *arrays: Any) -> Any:
            return call(arrays)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            """Nothing is kept: there is no backward."""

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            raise ArgumentError(
                "the operator has no gradients in torch's graph", code="OC2013",
                hint="compute them with the operator's ..._backward",
            )  # fmt: skip

        @staticmethod
        def vmap(info: Any, in_dims: Any, call: _Call, *arrays: Any) -> Any:
            size, dims = info.batch_size, in_dims[1:]
            several = zip(call.names, arrays, dims, strict=True)
            result = Rows.apply(call, *(call.batch(n, a, d, size) for n, a, d in several))
            return result, (0,) * len(result) if isinstance(result, tuple) else 0

    return Rows


def over_batches(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], rows: str, whole: str
) -> Any:
    """The result of an operator whose arrays `torch.vmap` maps over; None if it does not.

    Args:
        fn: the operator.
        args, kwargs: the arguments.
        rows: names of the arrays whose axes but the last are rows, as those of the results.
        whole: names of those that serve all rows.

    Raises:
        ArgumentError: a result is given, or an array that serves all rows is mapped over.
    """
    if not any(_is("batched", a) for a in (*args, *kwargs.values())):
        return None
    given = dict(inspect.signature(fn).bind(*args, **kwargs).arguments)
    if given.get("out") is not None:
        raise ArgumentError(
            f"{fn.__name__}: inside of torch.vmap there is no out", code="OC2532",
            hint="leave it out, and use the result",
        )  # fmt: skip
    names = tuple(n for n in (*rows.split(), *whole.split()) if given.get(n) is not None)
    arrays = [given.pop(n) for n in names]
    return _function().apply(_Call(fn, given, names, frozenset(rows.split())), *arrays)
