# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Reading disassembly."""

from __future__ import annotations

import pytest

from opencute.base.errors import ToolchainError
from opencute.codegen.sass import disassemble, parse_sass

TEXT = """
.text.k:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P5 LDG.E.128 R8, desc[UR4][R2.64] ;
        /*0020*/                   LDG.E R0, desc[UR4][R2.64+0x4] ;   /* 0x000 */
        /*0030*/                   STL [R1], R0 ;
        /*0040*/                   EXIT ;
.L_x_0:
        /*0050*/                   BRA `(.L_x_0);
        /*0060*/                   NOP;
"""


@pytest.mark.t0
def test_counts() -> None:
    sass = parse_sass(TEXT)
    assert len(sass.instructions) == 5
    assert sass.count("LDG.E") == 2 and sass.count("LDG.E.128") == 1 and sass.count("LDG") == 2
    assert sass.opcodes["LDG.E"] == 1
    assert sass.local_memory == 1


@pytest.mark.t1
def test_a_damaged_cubin_is_an_error() -> None:
    with pytest.raises(ToolchainError, match="OC1532"):
        disassemble(b"\x7fELF" + b"\0" * 64)
