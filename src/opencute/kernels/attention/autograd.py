# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention as a node of torch's graph of gradients.

In: an operator, and the one that its gradients come from. Out: the operator, whose results have
gradients where torch wants some::

    @differentiable(lambda: attention_backward)
    @tuned("attention", "q k causal window")
    ...
    def attention(q, k, v, *, causal=False, ...): ...

    attention(q, k, v, causal=True).sum().backward()

The node calls both operators as a user would: with what they were called before, no Python of
theirs runs. Neither sees gradients of its own: torch does not follow what a node does.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from opencute.base.errors import ArgumentError
from opencute.kernels.attention.call import refuse_narrow
from opencute.kernels.repeat.front import fronted, plain

__all__ = ["differentiable"]

F = TypeVar("F", bound=Callable[..., Any])
_SHARED = ("causal", "window", "scale")
"""Arguments by keyword that mean the same to the gradients."""


def differentiable(backward: Callable[[], Callable[..., Any]]) -> Callable[[F], F]:
    """Decorate an operator of `q`, `k`, `v`, more, and keywords with ``return_lse`` and ``out``.

    Args:
        backward: gives the operator of the gradient of the result, `q`, `k`, `v`, the result, its
            logarithms, more, and keywords with ``deterministic``.
    """

    def decorate(operator: F) -> F:
        fn, front = plain(operator)
        signature = inspect.signature(fn)
        places = sum(
            p.kind is not p.KEYWORD_ONLY for p in signature.parameters.values()
        )  # of what both operators take by position

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True  # it only passes errors on
            if len(args) != places:
                if not _wanted((*args, *kwargs.values())):
                    return fn(*args, **kwargs)
                try:
                    given = signature.bind(*args, **kwargs)
                except TypeError:
                    return fn(*args, **kwargs)  # it says what is wrong
                args, kwargs = given.args, given.kwargs
            if not _wanted(args[:3]):
                return fn(*args, **kwargs)
            return _with_gradients(marked, backward(), args, kwargs)

        marked: Any = call if front is None else fronted(call, front)
        return marked  # type: ignore[no-any-return]

    return decorate


def _wanted(values: tuple[Any, ...]) -> bool:
    """Whether torch wants gradients of what is made of these."""
    for value in values:
        if getattr(value, "requires_grad", False):
            return bool(sys.modules["torch"].is_grad_enabled())
    return False


def _with_gradients(
    forward: Callable[..., Any], backward: Callable[..., Any], args: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:  # fmt: skip
    refuse_narrow(backward.__name__, *args[:3])
    if options.pop("out", None) is not None:
        raise ArgumentError(
            "there are no gradients of what is written to out", code="OC2527",
            hint="omit out, or call under torch.no_grad()",
        )  # fmt: skip
    both = options.pop("return_lse", False)
    result = _node().apply(*args[:3], _Work(forward, backward, args[3:], options))
    return result if both else result[0]


class _Work:
    """What a node does.

    Args:
        forward, backward: the operators.
        more: arguments of both by position, behind the tensors.
        options: arguments of `forward` by keyword.
    """

    __slots__ = ("backward", "forward", "more", "options")

    def __init__(
        self, forward: Callable[..., Any], backward: Callable[..., Any], more: tuple[Any, ...],
        options: dict[str, Any],
    ) -> None:  # fmt: skip
        self.forward, self.backward, self.more, self.options = forward, backward, more, options


@functools.cache
def _node() -> Any:
    import torch

    class Once(torch.autograd.Function):
        """Gradients that have none themselves: asked for, they are refused, not left out."""

        @staticmethod
        def forward(ctx: Any, grad: Any, q: Any, k: Any, v: Any, *grads: Any) -> Any:
            return tuple(g.view_as(g) for g in grads)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            raise ArgumentError(
                "attention has no second derivatives", code="OC2543",
                hint="torch's scaled_dot_product_attention with its math backend has",
            )  # fmt: skip

    class Attention(torch.autograd.Function):
        """The forward and the backward pass."""

        @staticmethod
        def forward(ctx: Any, q: Any, k: Any, v: Any, work: _Work) -> Any:
            out, lse = work.forward(q, k, v, *work.more, return_lse=True, **work.options)
            ctx.save_for_backward(q, k, v, out, lse)
            ctx.mark_non_differentiable(lse)
            ctx.work = work
            return out, lse

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            saved = ctx.saved_tensors
            arrays = (grads[0].contiguous(), *saved)
            further = torch.is_grad_enabled()  # create_graph=True
            if further:
                arrays = tuple(t.detach() for t in arrays)
            ordered = torch.are_deterministic_algorithms_enabled()
            work = ctx.work
            options = {n: work.options[n] for n in _SHARED if n in work.options}
            found = work.backward(*arrays, *work.more, **options, deterministic=ordered)
            if further:
                found = Once.apply(grads[0], *saved[:3], *found)
            return (*found, None)

    return Attention
