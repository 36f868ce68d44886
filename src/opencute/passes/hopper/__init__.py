# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Lowering of what came with sm_90; part of the pass `tiles`.

wgmma   products of warpgroups as instructions on registers, and what orders them
join    products on one accumulator as one piece of assembly
"""

from __future__ import annotations
