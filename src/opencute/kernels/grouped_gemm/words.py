# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Lists of matrices as numbers: where they are, and what they are.

In: lists of arrays. Out: one bytes object, which is a key, and arrays of its words::

    words = read((a, b))                  # addresses of all, then six words for each (`Fact`)
    places, facts = taken_apart(words)    # (2 n,), (2 n, 6)

torch's tensors are read by native code; what that does not understand is looked at here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opencute.cute.runtime import from_dlpack
from opencute.jit.entry import code
from opencute.jit.entry.lists import Fact
from opencute.kernels.arrays import element_name, strides
from opencute.kernels.gemm.sm90_interface import address
from opencute.numeric.dtypes import DTYPES

__all__ = ["TYPES", "Fact", "read", "read_slowly", "taken_apart"]

_WORDS = 1 + len(Fact)
_HOST = 1  # DLPack's
TYPES: dict[int, str] = {
    d.dlpack[0] | d.dlpack[1] << 8 | 1 << 16: d.numpy_name
    for d in DTYPES.values()
    if d.dlpack is not None
}
"""Names of element types by DLPack's words."""
_NUMBERS = {name: word for word, name in TYPES.items()}


def read(lists: Sequence[Any]) -> bytes | None:
    """All arrays as words; None where Python has to look at them: `read_slowly`."""
    entry = code.load()
    entry.see_torch()
    return entry.read_matrices(*lists)


def read_slowly(lists: Sequence[Any]) -> bytes:
    """The same for arrays of any kind; what cannot be a kernel's argument is refused."""
    places: list[int] = []
    facts: list[list[int]] = []
    for t in (t for arrays in lists for t in arrays):
        if hasattr(t, "requires_grad"):
            from_dlpack(t)
        at, steps = address(t), strides(t)
        shape = [int(n) for n in t.shape]
        if len(shape) != 2:
            first = (shape[0], steps[0]) if len(shape) == 1 else (-1, 0)
            shape, steps = [first[0], -1], (first[1], 0)
        kind = _NUMBERS.get(element_name(t), 0)
        places.append(at)
        facts.append([_device(t), kind | at % 16 << 32, *shape, *steps])
    return np.array(places, np.int64).tobytes() + np.array(facts, np.int64).tobytes()


def _device(t: Any) -> int:
    place = getattr(t, "device", None)
    if getattr(place, "type", "cpu") != "cuda":
        return _HOST
    return 2 | int(t.get_device()) << 32


def taken_apart(words: bytes) -> tuple[Any, Any]:
    """Addresses, and what `Fact` names, of all arrays."""
    flat = np.frombuffer(words, np.int64)
    n = len(flat) // _WORDS
    return flat[:n], flat[n:].reshape(n, len(Fact))
