# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention as a node of torch's graph of gradients.

In: the two operators, with all but arrays bound. Out: results that have gradients::

    out, lse = apply(partial(attention, causal=True), partial(attention_backward, causal=True),
                     q, k, v)
    out.sum().backward()
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["apply", "wanted"]


def wanted(*arrays: Any) -> bool:
    """Whether torch wants gradients of what is made of these arrays."""
    if not any(getattr(a, "requires_grad", False) for a in arrays):
        return False
    return bool(sys.modules["torch"].is_grad_enabled())


def apply(
    forward: Callable[..., tuple[Any, Any]], backward: Callable[..., tuple[Any, Any, Any]],
    q: Any, k: Any, v: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """The result and the logarithms of its sums; gradients flow through the result only.

    Args:
        forward: ``(q, k, v, return_lse=True)`` to result and logarithms.
        backward: ``(grad, q, k, v, out, lse, deterministic=...)`` to gradients of q, k and v.
        q, k, v: the arrays.
    """
    return _node().apply(q, k, v, forward, backward)


@cache
def _node() -> Any:
    import torch

    class Attention(torch.autograd.Function):
        """The forward and the backward pass."""

        @staticmethod
        def forward(ctx: Any, q: Any, k: Any, v: Any, forward: Any, backward: Any) -> Any:
            out, lse = forward(q.detach(), k.detach(), v.detach(), return_lse=True)
            ctx.save_for_backward(q, k, v, out, lse)
            ctx.mark_non_differentiable(lse)
            ctx.operator = backward
            return out, lse

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            q, k, v, out, lse = (t.detach() for t in ctx.saved_tensors)
            ordered = torch.are_deterministic_algorithms_enabled()
            grad = grads[0].contiguous()
            found = ctx.operator(grad, q, k, v, out, lse, deterministic=ordered)
            return (*found, None, None)

    return Attention
