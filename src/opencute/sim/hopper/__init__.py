# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What came with sm_90, in the simulator. Importing registers the rules.

parties   who takes part in a product
wgmma     products of warpgroups, which take place as late as the program allows
"""

from __future__ import annotations

from opencute.sim.hopper import wgmma

__all__ = ["wgmma"]
