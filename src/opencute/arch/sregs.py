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
    "clusterid.x": (0, 2**31 - 2), "clusterid.y": (0, 65534), "clusterid.z": (0, 65534),
    "nclusterid.x": (1, 2**31 - 1), "nclusterid.y": (1, 65535), "nclusterid.z": (1, 65535),
    "cluster_ctaid.x": (0, 15), "cluster_ctaid.y": (0, 15), "cluster_ctaid.z": (0, 15),
    "cluster_nctaid.x": (1, 16), "cluster_nctaid.y": (1, 16), "cluster_nctaid.z": (1, 16),
    "cluster_ctarank": (0, 15), "cluster_nctarank": (1, 16),
    "laneid": (0, 31), "warpid": (0, 63), "nwarpid": (1, 64),
    "dynamic_smem_size": (0, 227 * 1024), "total_smem_size": (0, 228 * 1024),
}  # fmt: skip
