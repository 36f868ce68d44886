# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Special registers and the values that they can have.

>>> SREG_BOUNDS["tid.z"]
(0, 63)

Inclusive bounds, from the CUDA programming guide, "Technical specifications per compute
capability".
"""

from __future__ import annotations

__all__ = ["SREG_BOUNDS"]

SREG_BOUNDS: dict[str, tuple[int, int]] = {
    "tid.x": (0, 1023), "tid.y": (0, 1023), "tid.z": (0, 63),
    "ntid.x": (1, 1024), "ntid.y": (1, 1024), "ntid.z": (1, 64),
    "ctaid.x": (0, 2**31 - 2), "ctaid.y": (0, 65534), "ctaid.z": (0, 65534),
    "nctaid.x": (1, 2**31 - 1), "nctaid.y": (1, 65535), "nctaid.z": (1, 65535),
    "laneid": (0, 31), "warpid": (0, 63),
}  # fmt: skip
