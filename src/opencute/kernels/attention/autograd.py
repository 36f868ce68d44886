# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention as a node of torch's graph of gradients.

In: the two functions that compute it and its derivatives. Out: results that have gradients::

    out, lse = apply(forward, backward, call, config)
    out.sum().backward()
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
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
    call: Any, config: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """The result and the logarithms of its sums; gradients flow through the result only.

    Args:
        forward: ``(call, lse, out, config)`` to result and logarithms.
        backward: ``(call, grad, out, lse, deterministic)`` to gradients of q, k and v.
        call: has the arrays `q`, `k` and `v`, and is a frozen dataclass.
        config: of the forward pass.
    """
    return _node().apply(call.q, call.k, call.v, call, config, forward, backward)


@cache
def _node() -> Any:
    import torch

    class Attention(torch.autograd.Function):
        """The forward and the backward pass."""

        @staticmethod
        def forward(
            ctx: Any, q: Any, k: Any, v: Any, call: Any, config: Any, forward: Any, backward: Any
        ) -> Any:
            call = replace(call, q=q.detach(), k=k.detach(), v=v.detach())
            out, lse = forward(call, True, None, config)
            ctx.save_for_backward(q, k, v, out, lse)
            ctx.mark_non_differentiable(lse)
            ctx.rest = (replace(call, q=None, k=None, v=None), backward)
            return out, lse

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            call, backward = ctx.rest
            q, k, v, out, lse = (t.detach() for t in ctx.saved_tensors)
            ordered = torch.are_deterministic_algorithms_enabled()
            call = replace(call, q=q, k=k, v=v)
            found = backward(call, grads[0].contiguous(), out, lse, ordered)
            return (*found, None, None, None, None)

    return Attention
