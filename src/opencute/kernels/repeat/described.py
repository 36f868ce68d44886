# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a call of an operator depends on, as a key.

In: the arguments of a call. Out: a key, equal for calls that do the same to their tensors, the
tensors, and where they begin; None for what has no such key::

    key, tensors, addresses = described((a, b), {"bias": bias})

Of a tensor counts its type, device, extents, strides, and how its address is aligned; of an object
with `described_parts` what that gives. Other objects are compared: numbers, names, functions,
configurations.
"""

from __future__ import annotations

import enum
import functools
import math
import sys
import types
from typing import Any

from opencute.base.interned import unequal_parts
from opencute.jit.entry.front_words import ALIGNED
from opencute.runtime import device
from opencute.runtime.dlpack import forward_level

__all__ = ["described"]

_PLAIN = frozenset({int, bool, str, type(None)})
_NAMED = (types.FunctionType, types.BuiltinFunctionType, type, enum.Enum)


class _Unknown(Exception):
    """An argument of which nothing is known."""


def described(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], list[Any], list[int]] | None:
    """The key of a call, its tensors, and their addresses; None: calls like it are not told apart.

    Tensors are torch's. Those that want gradients, and those with one element in the host's memory,
    which may be numbers, have no key; nor have calls for a GPU that is not the current one. Where a
    configuration holds what has no hash, the key has none. Calls within a dispatch mode of torch's,
    which sees each operation and may make something else of it, have none either, nor while torch
    takes derivatives forwards.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or torch._C._len_torch_dispatch_stack() or forward_level():
        return None
    key: list[Any] = []
    tensors: list[Any] = []
    addresses: list[int] = []
    try:
        for value in args:
            _describe(value, torch, key, tensors, addresses)
        for name, value in kwargs.items():
            key.append(name)
            _describe(value, torch, key, tensors, addresses)
    except (_Unknown, RuntimeError, NotImplementedError, AttributeError):
        return None  # torch says so of tensors without memory
    if not tensors or _on_another_device(torch, tensors[0]):
        return None
    return tuple(key), tensors, addresses


def _on_another_device(torch: Any, tensor: Any) -> bool:
    """Whether a tensor is on a GPU that is not the current one: Python switches for each launch."""
    place = tensor.get_device()
    return place >= 0 and _devices() > 1 and place != torch.cuda.current_device()


_devices = functools.cache(device.count)


def _describe(
    value: Any, torch: Any, key: list[Any], tensors: list[Any], addresses: list[int]
) -> None:
    kind = type(value)
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        grad, cuda, at = value.requires_grad, value.is_cuda, value.data_ptr()
        if grad and torch.is_grad_enabled():
            raise _Unknown
        if not cuda and not (value.is_cpu and value.numel() > 1):
            raise _Unknown
        if not at and value.numel():  # its memory was given back, or it never had any
            raise _Unknown
        if value.is_neg():
            raise _Unknown
        place = value.get_device()
        key.append((value.shape, value.stride(), value.dtype, place, at % ALIGNED, grad))
        tensors.append(value)
        addresses.append(at)
    elif kind in _PLAIN:
        key.append(kind)
        key.append(value)
    elif kind is float:
        key.append(math.copysign(1.0, value))
        key.append(value)
    elif kind is tuple:
        key.append(len(value))
        for part in value:
            _describe(part, torch, key, tensors, addresses)
    elif isinstance(value, _NAMED):
        key.append(value)
    elif hasattr(kind, "described_parts"):
        key.append(kind)
        for part in value.described_parts():
            _describe(part, torch, key, tensors, addresses)
    else:
        fixed = getattr(kind, "__dataclass_params__", None)
        if fixed is None or not fixed.frozen or not fixed.eq:
            raise _Unknown
        key.append(kind)
        key.append(value)
        key.extend(unequal_parts(value))
