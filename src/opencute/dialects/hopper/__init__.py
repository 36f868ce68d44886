# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX instructions that Hopper (sm_90) brought. Importing this package declares them."""

from __future__ import annotations

from opencute.dialects.hopper import bulk, cluster, launch, mbarrier, tensor_maps, tma, wgmma

__all__ = ["bulk", "cluster", "launch", "mbarrier", "tensor_maps", "tma", "wgmma"]
