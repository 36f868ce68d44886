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

import numpy as np

__all__ = [
    "is_cuda", "is_pinned", "is_uninitialized", "mark_cuda", "mark_initialized", "mark_pinned",
    "mark_uninitialized", "note_written", "storage_of", "tensors_in", "written_bytes",
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
    setattr(storage_of(tensor), _EMPTY, None)


def written_bytes(tensor: Any) -> tuple[int, Any] | None:
    """Which bytes of the memory of `tensor` kernels have written since it came from `torch.empty*`.

    Returns:
        The address of its storage, and an array of bool for its bytes, which whoever writes to
        the memory goes on with; None if all of it counts as written.
    """
    storage = storage_of(tensor)
    if _EMPTY not in vars(storage) or not hasattr(storage, "nbytes"):
        return None
    known = vars(storage)[_EMPTY]
    if known is None or known.size != storage.nbytes():
        known = np.zeros(storage.nbytes(), np.bool_)
        setattr(storage, _EMPTY, known)
    return storage.data_ptr(), known


def note_written(tensor: Any) -> None:
    """Note that kernels may have written to what `written_bytes` gave."""
    known = vars(storage_of(tensor)).get(_EMPTY)
    if known is not None and known.all():
        mark_initialized(tensor)


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
