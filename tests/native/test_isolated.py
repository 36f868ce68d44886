# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM in a child process: the same PTX, and an error where LLVM ends the process."""

from __future__ import annotations

import pytest

from opencute.base.errors import ToolchainError
from opencute.native.isolated import to_ptx_isolated
from opencute.native.nvptx import to_ptx

pytestmark = pytest.mark.t1

_GOOD = """target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %x) {
  %v = call i32 asm "add.u32 $0, $1, 1;", "=r,r"(i32 %x)
  store i32 %v, ptr addrspace(1) %p, align 4
  ret void
}
"""


def test_the_same_ptx_comes_out() -> None:
    assert to_ptx_isolated(_GOOD, "sm_90a", 86).ptx == to_ptx(_GOOD, "sm_90a", 86).ptx


@pytest.mark.parametrize(
    ("constraint", "text"), [("=z,r", "add.u32 $0, $1, 1;"), ("=r,r", "add.u32 $0, $9, 1;")]
)
def test_a_crash_is_an_error_and_the_next_call_works(constraint: str, text: str) -> None:
    bad = _GOOD.replace("=r,r", constraint).replace("add.u32 $0, $1, 1;", text)
    with pytest.raises(ToolchainError, match="LLVM gave up") as e:
        to_ptx_isolated(bad, "sm_90a", 86)
    assert e.value.code == "OC1565" and "error" in str(e.value.found).lower()
    assert "add.u32" in to_ptx_isolated(_GOOD, "sm_90a", 86).ptx


def test_errors_of_llvm_come_back_as_they_are() -> None:
    with pytest.raises(ToolchainError) as mine:
        to_ptx("define void @k( {", "sm_90a", 86)
    with pytest.raises(ToolchainError) as theirs:
        to_ptx_isolated("define void @k( {", "sm_90a", 86)
    assert (mine.value.code, mine.value.message) == (theirs.value.code, theirs.value.message)
