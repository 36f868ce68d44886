# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What messages advise where Python needs a run-time value, raises, or does not come to an end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiled import load_source
from opencute.base.errors import OpenCuTeError
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0

SOURCE = """
import math

def if_(n):
    if n > 2:{if_}
        return 1
    return 2

def in_(n):
    return n in [1, 2]{in_}

def for_(n):
    for k in range(n):{for_}
        n += k
    return n

@cute.jit
def endless(n):
    if n < 2:
        return 1
    return n * endless(n - 1){endless}

@cute.jit
def checked(n):
    for k in range(n):
        if k > 3:
            raise ValueError("k"){raise_}
    return n

@cute.jit
def two(n):
    n += 1
    if n > 2:{two}
        return 1
    return "a"

@cute.kernel
def kernel(t: cute.Tensor):
    n = t[0]
    {body}

@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch()
"""

CASES = {
    "t[0] = if_(n)": ("OC1101", "decorate 'if_' with @cute.jit: it has an 'if'", "if_"),
    "t[0] = in_(n)": ("OC1101", "decorate 'in_' with @cute.jit: it has an 'in'", "in_"),
    "t[0] = for_(n)": ("OC1101", "decorate 'for_' with @cute.jit: it has a 'for'", "for_"),
    "x = [k for k in range(4) if t[k] > 0]": ("OC1101", "a comprehension runs", "body"),
    "assert n > 2": ("OC1101", "an assert is checked while tracing", "body"),
    "x = [1, 2][n]": ("OC1101", "use a register tensor", "body"),
    "x = math.sqrt(n)": ("OC1101", "cute.math", "body"),
    "t[0] = checked(n)": ("OC1119", "a 'raise' under a run-time condition", "raise_"),
    "if n > 2: raise ValueError(n)": ("OC1119", "report with cute.printf", "body"),
    "t[0] = endless(n)": ("OC1123", "recursion needs a bound", "endless"),
    "t[0] = two(n)": ("OC1250", "the function returns different kinds", "two"),
}


@pytest.mark.parametrize("body", CASES)
def test_advice(body: str, tmp_path: Path) -> None:
    code, words, mark = CASES[body]
    marks = dict.fromkeys(("if_", "in_", "for_", "endless", "raise_", "two"), "")
    marks["body"] = body
    marks[mark] += "  # here"
    source = SOURCE.format(**marks)
    module = load_source(source, tmp_path)
    with pytest.raises(OpenCuTeError) as e:
        module.host(from_dlpack(np.zeros(8, np.int32)))
    assert e.value.code == code and words in str(e.value) and "__oc" not in str(e.value)
    assert e.value.loc is not None
    line = source.splitlines()[e.value.loc.line - 1]
    assert line.endswith("# here"), e.value


def test_a_raise_that_is_decided_while_tracing(tmp_path: Path) -> None:
    source = """
@cute.jit
def check(size):
    if size != 4:
        raise ValueError(f"size {size}")

@cute.jit
def host(t: cute.Tensor):
    if t[0] > 2:
        check(5)
"""
    module = load_source(source, tmp_path)
    with pytest.raises(ValueError, match="size 5"):
        module.host(from_dlpack(np.zeros(8, np.int32)))


def test_a_method_of_a_class_in_a_kernel(tmp_path: Path) -> None:
    """Bodies of classes run as they are, and with them what they define."""
    source = """
@cute.jit
def host(t: cute.Tensor):
    class Sum:
        def add(self, x):
            return 1 if x > 2 else 0
    t[0] = Sum().add(t[1])
"""
    module = load_source(source, tmp_path)
    with pytest.raises(OpenCuTeError, match=r"decorate 'add' with @cute.jit"):
        module.host(from_dlpack(np.zeros(8, np.int32)))
