# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.testing.assert_` in the simulator and in machine code."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.errors import FailedAssertionError
from opencute.base.knobs import KNOBS
from opencute.codegen.host import ARGUMENT_SLOT
from opencute.cute.runtime import from_dlpack
from opencute.native.jit import compile_host


@cute.kernel
def _kernel(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    if i < 4:
        cute.testing.assert_(x[i] >= 0, f"x is not negative, {100}%")
    x[i] = x[i] + 1


@cute.jit
def _host(x: cute.Tensor):
    _kernel(x).launch(grid=1, block=8)


@cute.jit
def _checked(n: cutlass.Int32):
    cute.testing.assert_(n % 8 == 0, "n is a multiple of 8")


def compiled(fn: Any, *args: Any, options: str = "", target: str = "sm_80") -> Any:
    with KNOBS.override(target=f"sim:{target}"):
        return cute.compile(fn, *args, options=options)


@pytest.mark.t0
def test_the_simulator_names_the_line_the_message_and_the_thread() -> None:
    x = np.array([0, 1, -2, 3, -4, 5, 6, 7], np.int32)
    with pytest.raises(FailedAssertionError, match=r"OC3013.*x is not negative, 100%") as e:
        _host(from_dlpack(x))
    assert "thread (2, 0, 0)" in str(e.value) or "(2" in str(e.value)
    assert "cute.testing.assert_(x[i] >= 0" in str(e.value)
    x = np.abs(x)
    _host(from_dlpack(x))
    assert x[0] == 1


@pytest.mark.t0
def test_vectors_numbers_and_what_is_known() -> None:
    on_device(lambda a: cute.testing.assert_(a.load() > 0), np.ones(4))
    with pytest.raises(AssertionError, match="the condition holds"):
        on_device(lambda a: cute.testing.assert_(a.load() > 0), np.array([1.0, 0.0]))
    cute.testing.assert_(True)
    with pytest.raises(AssertionError, match="wrong shape"):
        cute.testing.assert_(2 > 3, "wrong shape")
    with pytest.raises(AssertionError, match="n is a multiple"):
        _checked(cutlass.Int32(12))


@pytest.mark.t1
def test_machine_code_has_assertions_only_where_they_are_asked_for() -> None:
    x = from_dlpack(np.ones(8, np.int32))
    assert "__assertfail" not in compiled(_host, x).artefacts.ptx
    for name in ("sm_80", "sm_90a", "sm_120a"):
        made = compiled(_host, x, options="--enable-assertions", target=name).artefacts
        assert "__assertfail" in made.ptx and made.cubin
        assert "test_assertion.py" in made.llvm and "100%" in made.llvm
    with KNOBS.override(assertions=True):
        assert "__assertfail" in compiled(_host, x).artefacts.ptx
    with KNOBS.override(target="sim:sm_90a"):
        assert "__assertfail" in cute.compile[cute.EnableAssertions](_host, x).artefacts.ptx


@pytest.mark.t1
def test_native_host_functions_assert(capfd: pytest.CaptureFixture[str]) -> None:
    code = compiled(_checked, cutlass.Int32(8), options="--enable-assertions").artefacts.host
    host = compile_host(code.llvm_ir, {})
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(host.address(code.name))
    slots = (ctypes.c_uint64 * code.slots)()
    for n, status in ((16, 0), (12, 710)):
        slots[ARGUMENT_SLOT] = n
        assert call(slots) == status
    out = capfd.readouterr().out
    assert "test_assertion.py:" in out and "Assertion `n is a multiple of 8` failed." in out


@pytest.mark.t2
def test_a_failed_assertion_ends_the_kernel() -> None:
    """In a process of its own: the device's context is of no use afterwards."""
    import subprocess
    import sys

    text = """
import numpy as np, sys
sys.path[:0] = ["src", "tests", "tests/lang/values"]
from test_assertion import _host
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
with KNOBS.override(target="cuda"):
    x = from_dlpack(np.array([0, 1, -2, 3, -4, 5, 6, 7], np.int32))
    cute.compile(_host, x, options="--enable-assertions")(x)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode != 0
    assert "x is not negative" in done.stdout + done.stderr
