# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR to PTX for every processor, assembled by ptxas where there is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from opencute.base.errors import ToolchainError
from opencute.native import nvptx
from opencute.native.nvptx import (
    LLVM_PTX_VERSIONS,
    MINIMUM_PTX,
    known_processors,
    ptx_version_for,
    to_ptx,
)

pytestmark = pytest.mark.t1

AXPY = """
define ptx_kernel void @axpy(ptr addrspace(1) %a, float %x, float %y) {
  %v = load float, ptr addrspace(1) %a
  %m = fmul float %v, %x
  %s = fadd float %m, %y
  store float %s, ptr addrspace(1) %a
  ret void
}
"""


def find_ptxas() -> str | None:
    wheel = Path(sysconfig.get_paths()["purelib"]) / "nvidia" / "cu13" / "bin" / "ptxas"
    return str(wheel) if wheel.exists() else shutil.which("ptxas")


@pytest.mark.parametrize("sm", known_processors())
def test_every_processor_gets_its_target_and_version(sm):
    for version in {ptx_version_for(sm), MINIMUM_PTX[sm]}:
        ptx = to_ptx(AXPY, sm, version).ptx
        assert f".version {version // 10}.{version % 10}\n" in ptx
        assert f".target {sm}\n" in ptx


@pytest.mark.parametrize("sm", known_processors())
def test_ptxas_takes_the_default_version(sm, tmp_path):
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("no ptxas")
    source = tmp_path / "k.ptx"
    source.write_text(to_ptx(AXPY, sm, ptx_version_for(sm)).ptx)
    done = subprocess.run(
        [ptxas, "-arch", sm, str(source), "-o", os.devnull], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_version_in_the_table_is_known_to_llvm():
    for version in LLVM_PTX_VERSIONS:
        if version >= MINIMUM_PTX["sm_75"]:
            to_ptx(AXPY, "sm_75", version)


def test_version_defaults():
    assert ptx_version_for("sm_80") == 86
    assert ptx_version_for("sm_90a") == 86
    assert ptx_version_for("sm_100a") == 88
    assert ptx_version_for("sm_110a") == 90
    assert ptx_version_for("sm_90a", at_least=87) == 87
    assert ptx_version_for("sm_90a", at_least=89) == 90
    with pytest.raises(ToolchainError) as caught:
        ptx_version_for("sm_90a", at_least=99)
    assert caught.value.code == "OC1513"


def test_multiply_and_add_are_never_contracted():
    for passes in ("none", "small", "O3"):
        ptx = to_ptx(AXPY, "sm_90a", 86, passes).ptx
        assert "mul.rn.f32" in ptx
        assert "add.rn.f32" in ptx
        assert "fma" not in ptx


def test_an_fma_that_was_asked_for_is_one():
    ir = """
    declare float @llvm.fma.f32(float, float, float)
    define ptx_kernel void @k(ptr addrspace(1) %a, float %x) {
      %v = load float, ptr addrspace(1) %a
      %s = call float @llvm.fma.f32(float %v, float %x, float %v)
      store float %s, ptr addrspace(1) %a
      ret void
    }"""
    assert "fma.rn.f32" in to_ptx(ir, "sm_90a", 86).ptx


def test_wide_accesses_are_not_made_by_llvm():
    """Two adjacent loads stay two: vectors are the code generator's choice."""
    ir = """
    define ptx_kernel void @k(ptr addrspace(1) align 16 %a, ptr addrspace(1) align 16 %b) {
      %a1 = getelementptr float, ptr addrspace(1) %a, i64 1
      %v0 = load float, ptr addrspace(1) %a, align 16
      %v1 = load float, ptr addrspace(1) %a1, align 4
      %s = fadd float %v0, %v1
      store float %s, ptr addrspace(1) %b, align 16
      ret void
    }"""
    assert len(re.findall(r"ld\.global\.b32", to_ptx(ir, "sm_90a", 86).ptx)) == 2


def test_timings_name_every_phase():
    timings = to_ptx(AXPY, "sm_90a", 86).timings
    assert set(timings) == {"parse", "verify", "passes", "emit"}
    assert all(t >= 0 for t in timings.values())


def test_a_parse_error_shows_the_line():
    with pytest.raises(ToolchainError) as caught:
        to_ptx("define void @f() {\n  %a = add i32 1, foo\n  ret void\n}", "sm_90a", 86)
    assert caught.value.code == "OC1510"
    assert "line 2:   %a = add i32 1, foo" in str(caught.value)
    assert "expected value token" in str(caught.value)


def test_a_verifier_error_shows_the_line():
    ir = "define i32 @f() {\nb:\n  %a = add i32 %c, 1\n  %c = add i32 %a, 1\n  ret i32 %a\n}"
    with pytest.raises(ToolchainError) as caught:
        to_ptx(ir, "sm_90a", 86)
    assert caught.value.code == "OC1511"
    assert "line 4: %c = add i32 %a, 1" in str(caught.value)


@pytest.mark.parametrize(
    ("sm", "version", "code"),
    [
        ("sm_42", 86, "OC1512"),
        ("90a", 86, "OC1512"),
        ("sm_100a", 80, "OC1513"),
        ("sm_90a", 89, "OC1513"),
    ],
)
def test_what_would_abort_llvm_is_refused_before(sm, version, code):
    with pytest.raises(ToolchainError) as caught:
        to_ptx(AXPY, sm, version)
    assert caught.value.code == code


def test_an_llvm_that_ignores_a_name_is_noticed(monkeypatch, capfd):
    monkeypatch.setitem(nvptx.MINIMUM_PTX, "sm_999", 86)
    with pytest.raises(ToolchainError, match="does not know sm_999"):
        to_ptx(AXPY, "sm_999", 86)
    capfd.readouterr()  # LLVM's own grumbling


def test_threads_may_compile_at_once():
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda _: to_ptx(AXPY, "sm_90a", 86).ptx, range(16)))
    assert len(set(texts)) == 1
    assert sys.modules["llvmlite"]
