# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Inline assembly: what its constraints say, and the op that its instructions become.

constraints   operands of a piece of assembly, and checks of its text
extern        calls of device functions that come as PTX
compute       one PTX instruction without effects, as the simulator runs it
"""

from __future__ import annotations

from opencute.dialects.asm import compute, extern

__all__ = ["compute", "extern"]
