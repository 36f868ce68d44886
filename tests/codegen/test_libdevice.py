# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions cut out of libdevice."""

from __future__ import annotations

import pytest

from codegen.compiling import to_ptx
from codegen.samples import unary_tile
from opencute.arch.mathfns import MATH_FNS
from opencute.codegen.libdevice import libdevice_text
from opencute.dialects import math
from opencute.ir.types import F32

pytestmark = pytest.mark.t1


def test_a_function_comes_alone() -> None:
    text = libdevice_text(("__nv_expf",))
    assert text.count("define") == 1
    assert "__nvvm_reflect" not in text and "ftz.f(" not in text


def test_several_share_their_declarations() -> None:
    text = libdevice_text(("__nv_expf", "__nv_expf", "__nv_erff"))
    declared = [line for line in text.splitlines() if line.startswith("declare")]
    assert len(declared) == len(set(declared))
    assert text.count("@__nv_expf(") == 1


def test_every_function_of_the_table_exists() -> None:
    names = {row.text for row in MATH_FNS.values() if row.kind == "libdevice"}
    for name in sorted(names)[::6]:  # cutting out takes 20 ms each
        assert f"@{name}(" in libdevice_text((name,))


def test_no_flush_and_no_contraction() -> None:
    ptx = to_ptx(unary_tile(F32, 4, lambda x: math.unary("tanh", x))).ptx
    assert "ex2.approx.ftz" in ptx  # the library's own
    assert "fma.rn.ftz" not in ptx and ".func" not in ptx
