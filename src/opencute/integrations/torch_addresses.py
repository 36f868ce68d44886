# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of torch tensors that kernels may reach by addresses which the program asked for.

A program that puts ``tensor.data_ptr()`` into a table for a kernel gives it an address, not a
tensor. In: calls of `data_ptr`. Out: the memory behind the addresses, for as long as it lives::

    torch.Tensor.data_ptr = noting(torch.Tensor.data_ptr)
    memory()                     # [(address, bytes), ...]

Torch's CUDA allocator keeps the memory of tensors that are gone, and programs with such tables
count on it: the last pieces that were asked for stay here, too.
"""

from __future__ import annotations

import collections
import functools
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["memory", "noting"]

_KEPT_BYTES = 1 << 28

_sizes: dict[int, int] = {}
_kept: collections.OrderedDict[int, Any] = collections.OrderedDict()


def noting(data_ptr: Callable[[Any], int]) -> Callable[[Any], int]:
    """`data_ptr` that notes the memory of the tensors it is called for."""

    @functools.wraps(data_ptr)
    def noted(tensor: Any) -> int:
        address = data_ptr(tensor)
        if address and tensor.device.type in ("cpu", "cuda"):
            storage = tensor.untyped_storage()
            start, size = int(storage.data_ptr()), int(storage.nbytes())
            if start not in _sizes:
                weakref.finalize(storage, _sizes.pop, start, None).atexit = False
            _sizes[start] = size
            _keep(start, storage)
        return address

    return noted


def _keep(start: int, storage: Any) -> None:
    """Keep a piece of memory, and let the oldest ones go if it is too much."""
    _kept[start] = storage
    _kept.move_to_end(start)
    while len(_kept) > 1 and sum(_sizes.get(a, 0) for a in _kept) > _KEPT_BYTES:
        _kept.popitem(last=False)


def memory() -> list[tuple[int, int]]:
    """Address and size of each piece of memory whose address was asked for."""
    return list(_sizes.items())
