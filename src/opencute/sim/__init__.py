# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 4: the simulator. Runs IR with NumPy, vectorised over threads, and checks it while it runs.

It is the definition of what a kernel means. `Simulator` runs host functions and the kernels that
they launch; `Buffer` and `SimPointer` are how arrays go in.
"""

from __future__ import annotations

from opencute.sim.memory import Buffer, SimPointer
from opencute.sim.report import RunReport
from opencute.sim.simulator import Simulator

__all__ = ["Buffer", "RunReport", "SimPointer", "Simulator"]
