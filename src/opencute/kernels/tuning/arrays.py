# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays to tune with, where kernels run: torch's on a GPU, NumPy's in the simulator.

In: a shape and a type's name. Out: an array; on a GPU with small random numbers, which do not make
tensor cores colder than real ones do, elsewhere with nothing in it, as nothing runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any

from opencute.base.errors import MissingPieceError
from opencute.compiler.targets import run_target

__all__ = ["maker", "side_stream"]


def maker() -> Callable[[tuple[int, ...], str], Any]:
    """What makes arrays for the current target.

    Raises:
        MissingPieceError: OC5105, there is a GPU and no torch.
    """
    return _on_gpu() if run_target().kind == "cuda" else _empty


def _on_gpu() -> Callable[[tuple[int, ...], str], Any]:
    try:
        import torch
    except ImportError:
        raise MissingPieceError(
            "timing on a GPU takes torch, whose arrays it uses", code="OC5105",
            hint="install torch, or compile only: opencute tune ... --arch sm_90a",
        ) from None  # fmt: skip

    def make(shape: tuple[int, ...], dtype: str) -> Any:
        if dtype.startswith("int"):
            low = -4 if dtype == "int8" else 0  # wider ones are indices
            return torch.randint(low, 5, shape, dtype=getattr(torch, dtype), device="cuda")
        return torch.randn(shape, device="cuda").to(getattr(torch, dtype))

    return make


def _empty(shape: tuple[int, ...], dtype: str) -> Any:
    import ml_dtypes
    import numpy as np

    return np.empty(shape, getattr(ml_dtypes, dtype, None) or np.dtype(dtype))


@contextlib.contextmanager
def side_stream(wanted: bool) -> Generator[Any, None, None]:
    """A stream that can be captured, as the current one; None if it is not wanted."""
    if not wanted:
        yield None
        return
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        yield stream
    stream.synchronize()
