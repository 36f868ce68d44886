# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The meaning of Hopper's operations, one file per family. Importing registers all rules."""

from __future__ import annotations

from opencute.sim.hopper import bulk_ops, cluster_ops, map_ops, mbarrier_ops, tma_ops, wgmma

__all__ = ["bulk_ops", "cluster_ops", "map_ops", "mbarrier_ops", "tma_ops", "wgmma"]
