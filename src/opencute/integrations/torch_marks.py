# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which CPU tensors stand for CUDA tensors, and which hold bytes that nothing wrote.

In: a torch tensor. Out: marks, kept on the tensor's *storage*: views, detached handles,
parameters and tensors that autograd unpacks all share the storage, so they agree with no further
work. A tensor with no storage (sparse) carries the mark itself. Example::

    mark_cuda(t); is_cuda(t.view(-1))      # True
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "is_cuda", "is_pinned", "is_uninitialized", "mark_cuda", "mark_initialized", "mark_pinned",
    "mark_uninitialized", "storage_of", "tensors_in",
]  # fmt: skip

_CUDA = "_opencute_cuda"
_EMPTY = "_opencute_uninitialized"
_PINNED = "_opencute_pinned"


def storage_of(tensor: Any) -> Any:
    """The object that carries the marks of `tensor`."""
    try:
        return tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):
        return tensor


def is_cuda(tensor: Any) -> bool:
    """Whether `tensor` stands for a tensor in CUDA memory."""
    return _CUDA in vars(storage_of(tensor))


def mark_cuda(tensor: Any) -> None:
    """Make `tensor`, and all that shares its storage, stand for CUDA memory."""
    setattr(storage_of(tensor), _CUDA, True)


def is_uninitialized(tensor: Any) -> bool:
    """Whether the memory of `tensor` came from `torch.empty*` and nothing wrote to it since."""
    return _EMPTY in vars(storage_of(tensor))


def mark_uninitialized(tensor: Any) -> None:
    """Note that the memory of `tensor` holds no values yet."""
    setattr(storage_of(tensor), _EMPTY, True)


def mark_initialized(tensor: Any) -> None:
    """Note that something wrote to the memory of `tensor` (a kernel of ours, say)."""
    storage_of(tensor).__dict__.pop(_EMPTY, None)


def is_pinned(tensor: Any) -> bool:
    """Whether `tensor` stands for page-locked host memory."""
    return _PINNED in vars(storage_of(tensor))


def mark_pinned(tensor: Any) -> None:
    """Make `tensor` stand for page-locked host memory."""
    setattr(storage_of(tensor), _PINNED, True)


def tensors_in(tensor_type: type, value: Any, depth: int = 0) -> list[Any]:
    """The tensors inside a value made of tuples, lists and dicts."""
    if isinstance(value, tensor_type):
        return [value]
    if depth > 4:
        return []
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors_in(tensor_type, v, depth + 1)]  # pyright: ignore
    if isinstance(value, dict):
        return [t for v in value.values() for t in tensors_in(tensor_type, v, depth + 1)]  # pyright: ignore
    return []
