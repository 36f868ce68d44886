# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a call of the CUDA bindings returned, without its error code.

>>> check_cuda_errors((0, 7))
7
"""

from __future__ import annotations

from typing import Any

from opencute.base.errors import DeviceError

__all__ = ["check_cuda_errors"]


def check_cuda_errors(result: Any) -> Any:
    """Raise if the first member of a result is an error, else give the others.

    Args:
        result: a tuple ``(error, *values)`` as the CUDA bindings return.

    Raises:
        DeviceError: the call failed; its code is ``OC4`` and CUDA's number of the error.
    """
    error, *values = result if isinstance(result, tuple) else (result,)
    number = int(getattr(error, "value", error) or 0)
    if number != 0:
        raise DeviceError(f"a CUDA call failed: {error}", code=f"OC4{number:03d}")
    if not values:
        return None
    return values[0] if len(values) == 1 else tuple(values)
