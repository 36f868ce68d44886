# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Division by multiplication against Python's ``//`` and ``%``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opencute as cutlass
from compiled import elementwise, on_device
from opencute import cute
from opencute.base.errors import ArgumentError, OpenCuTeError, TypeMismatchError

pytestmark = pytest.mark.t0

EDGES = [0, 1, 2, 3, 5, 6, 7, 9, 641, 65535, 65536, 65537, 2**30, 2**31 - 2, 2**31 - 1]
UNSIGNED = [*EDGES, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1]
SIGNED = [*EDGES, *(-n for n in EDGES), -(2**31)]


@given(n=st.integers(0, 2**32 - 1) | st.sampled_from(UNSIGNED),
       d=st.integers(1, 2**32 - 1) | st.sampled_from(UNSIGNED[1:]))  # fmt: skip
@settings(max_examples=100, deadline=None, derandomize=True)
def test_unsigned(n: int, d: int) -> None:
    q, r = divmod(cutlass.Uint32(n), cute.fast_divmod_create_divisor(cutlass.Uint32(d)))
    assert (int(q), int(r)) == divmod(n, d)


@given(n=st.integers(-(2**31), 2**31 - 1) | st.sampled_from(SIGNED),
       d=st.integers(1, 2**31 - 1) | st.sampled_from(EDGES[1:]))  # fmt: skip
@settings(max_examples=100, deadline=None, derandomize=True)
def test_signed(n: int, d: int) -> None:
    divisor = cute.fast_divmod_create_divisor(d)
    number = cutlass.Int32(n)
    assert (int(number // divisor), int(number % divisor)) == divmod(n, d)


def test_run_time_divisors_and_dividends() -> None:
    pairs = [(n, d) for n in SIGNED for d in EDGES[1:]]
    n, d = (np.array(x, np.int32) for x in zip(*pairs, strict=True))
    q, r = np.zeros_like(n), np.zeros_like(n)

    def body(a: Any, b: Any) -> Any:
        return divmod(a, cute.fast_divmod_create_divisor(b, loc=None, ip=None))

    elementwise(body, [n, d], [q, r])
    assert (q == n // d).all() and (r == n % d).all()


@cute.kernel
def _kernel(out: cute.Tensor, tiles: cute.FastDivmodDivisor, n: cutlass.Int32):
    for i in range(n):
        q, r = divmod(i, tiles)
        if q > 1:
            tiles = tiles  # carried through a branch and a loop
        out[i] = q * 100 + r


@cute.jit
def _host(out: cute.Tensor, d: cutlass.Int32, n: cutlass.Int32):
    _kernel(out, cute.fast_divmod_create_divisor(d), n).launch(grid=1, block=1)


def test_made_on_the_host_and_passed_to_a_kernel() -> None:
    out = np.zeros(20, np.int32)
    _host(cute.runtime.from_dlpack(out), cutlass.Int32(7), cutlass.Int32(20))
    assert out.tolist() == [i // 7 * 100 + i % 7 for i in range(20)]


def test_a_divisor_is_made_of_few_operations() -> None:
    """Not of one for each power of two that it may be: tile schedulers make three."""
    args = (cute.runtime.from_dlpack(np.zeros(20, np.int32)), cutlass.Int32(7), cutlass.Int32(20))
    host = cute.compile(_host, *args).__mlir__.partition("gpu.module")[0]
    assert host.count(" = ") < 40 and "math.ctlz" in host


def test_wrong_operands() -> None:
    for bad in (0, -3, 2**31):
        with pytest.raises(ArgumentError, match="OC2023"):
            cute.fast_divmod_create_divisor(cutlass.Int32(bad) if bad < 1 else bad)
    with pytest.raises(TypeMismatchError, match="OC1247"):
        cute.fast_divmod_create_divisor(2.5)
    with pytest.raises(TypeMismatchError, match="OC1247"):
        cutlass.Int64(3) // cute.fast_divmod_create_divisor(2)


def test_a_dividend_of_64_bits_is_refused_on_its_line() -> None:
    def body(x: Any) -> None:
        x[0] = x[0] // cute.fast_divmod_create_divisor(3)

    with pytest.raises(OpenCuTeError, match="fast division is of 32-bit"):
        on_device(body, np.zeros(1, np.int64))


@pytest.mark.t1
@pytest.mark.parametrize("name", ["sm_80", "sm_90a"])
def test_machine_code_multiplies(name: str) -> None:
    from opencute.base.knobs import KNOBS

    args = (cute.runtime.from_dlpack(np.zeros(20, np.int32)), cutlass.Int32(7), cutlass.Int32(20))
    with KNOBS.override(target=f"sim:{name}"):
        made = cute.compile(_host, *args).artefacts
    assert "div." not in made.ptx and "rem." not in made.ptx
    assert made.cubin
    assert "udiv" in made.host.llvm_ir  # once, where the divisor is made


@pytest.mark.t2
def test_on_a_gpu() -> None:
    from opencute.base.knobs import KNOBS

    for d in (1, 2, 3, 7, 64, 641, 2**31 - 1):
        out = np.zeros(20, np.int32)
        with KNOBS.override(target="cuda"):
            _host(cute.runtime.from_dlpack(out), cutlass.Int32(d), cutlass.Int32(20))
        assert out.tolist() == [i // d * 100 + i % d for i in range(20)]
