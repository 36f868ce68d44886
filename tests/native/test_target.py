# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM's set-up: once, lazily, from any thread."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from opencute.native import target
from opencute.native.text import parse_module

pytestmark = pytest.mark.t1


def test_importing_the_package_does_not_import_llvmlite():
    code = (
        "import sys, opencute.native, opencute.native.target, opencute.native.nvptx,"
        " opencute.native.jit; assert 'llvmlite' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )


def test_target_machines_are_made_once():
    with ThreadPoolExecutor(8) as pool:
        machines = list(pool.map(lambda _: target.nvptx_target_machine(), range(32)))
    assert all(m is machines[0] for m in machines)
    assert target.nvptx_target_machine("sm_80", "+ptx86") is not machines[0]


def test_host_target_machine_is_this_cpu():
    triple, cpu, features = target.host_description()
    assert triple and cpu
    assert isinstance(features, str)
    assert target.host_target_machine() is target.host_target_machine(2)
    assert str(target.host_target_machine().triple) == triple


def test_a_missing_llvmlite_says_what_to_install(monkeypatch):
    from opencute.base.errors import MissingPieceError

    monkeypatch.setattr(target, "_llvm", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    with pytest.raises(MissingPieceError, match="pip install") as caught:
        target.initialize()
    assert caught.value.code == "OC5013"


UNOPTIMISED = """
define i32 @f(i32 %x) {
entry:
  %slot = alloca i32
  store i32 %x, ptr %slot
  %v = load i32, ptr %slot
  %dead = mul i32 %v, %v
  %up = add i32 %v, 5
  %down = sub i32 %up, 5
  br label %next
next:
  ret i32 %down
}
"""


@pytest.mark.parametrize("passes", ["small", "O1", "O3"])
def test_passes_simplify_what_a_code_generator_leaves(passes):
    machine = target.nvptx_target_machine()
    module = parse_module(UNOPTIMISED, machine)
    target.run_passes(module, machine, passes)
    text = str(module)
    assert "ret i32 %x" in text
    assert not any(f" {op} " in text for op in ("alloca", "mul", "add", "sub", "br"))


def test_no_passes_leave_the_module_alone():
    machine = target.nvptx_target_machine()
    module = parse_module(UNOPTIMISED, machine)
    before = str(module)
    target.run_passes(module, machine, "none")
    assert str(module) == before
    assert 'target triple = "nvptx64-nvidia-cuda"' in before
    assert "target datalayout" in before
