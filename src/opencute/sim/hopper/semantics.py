# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The meaning of Hopper's operations, one file per family. Importing registers all rules."""

from __future__ import annotations

from opencute.sim.hopper import cluster_ops, mbarrier_ops, wgmma
from opencute.sim.hopper.tma import map_ops, run_ops, tile_ops

__all__ = ["cluster_ops", "map_ops", "mbarrier_ops", "run_ops", "tile_ops", "wgmma"]
