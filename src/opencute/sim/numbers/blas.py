# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of small matrices on one core.

NumPy's BLAS shares also a product of microseconds among all cores, and its threads spin while they
wait for each other: beside other work that takes many times as long as one core needs. Where this
BLAS is not the OpenBLAS of NumPy's wheels, nothing happens::

    with one_thread():
        a @ b
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np

__all__ = ["one_thread"]

_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads",
          "openblas_{}_num_threads64_", "openblas_{}_num_threads")  # fmt: skip
Calls = tuple[Callable[[], int], Callable[[int], None]]


@lru_cache(maxsize=1)
def _calls() -> Calls | None:
    """What tells and what sets how many threads there are."""
    no_load = getattr(os, "RTLD_NOLOAD", None)  # only what NumPy itself has loaded
    if no_load is None:
        return None
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        for path in folder.glob("*openblas*"):
            try:
                library = ctypes.CDLL(str(path), mode=no_load | os.RTLD_LAZY)
            except OSError:
                continue
            for name in _NAMES:
                if hasattr(library, name.format("set")):
                    tell, put = (getattr(library, name.format(do)) for do in ("get", "set"))
                    tell.argtypes, tell.restype = [], ctypes.c_int
                    put.argtypes, put.restype = [ctypes.c_int], None
                    return tell, put
    return None


@contextmanager
def one_thread() -> Generator[None, None, None]:
    """Products are taken on one core."""
    calls = _calls()
    before = 1 if calls is None else calls[0]()
    if calls is None or before == 1:
        yield
        return
    put = calls[1]
    put(1)
    try:
        yield
    finally:
        put(before)
