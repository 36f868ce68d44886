# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Every declared operation: print, parse, print, verify; and a real mlir-opt accepts it."""

from __future__ import annotations

import pytest

from dialects.samples import SAMPLES, modules
from ir.mlir_opt import accepted, rejected
from opencute import dialects
from opencute.ir.declare import declarations
from opencute.ir.parser import parse
from opencute.ir.printer import print_op
from opencute.ir.verifier import verify

pytestmark = pytest.mark.t0
assert dialects.__all__
NAMES = sorted(declarations())


@pytest.mark.parametrize("name", NAMES)
def test_round_trip(name: str):
    assert name in SAMPLES, f"{name} is declared without a sample in tests/dialects/samples.py"
    for module in modules(name):
        verify(module)
        for locations in (False, True):
            text = print_op(module, locations=locations)
            again = parse(text)
            assert print_op(again, locations=locations) == text
            verify(again)
        assert [op.loc for op in again.walk()] == [op.loc for op in module.walk()]
        copy = module.clone({})
        assert print_op(copy, locations=True) == text
        verify(copy)


@pytest.fixture(scope="module")
def by_mlir_opt() -> dict[str, list[str]]:
    """What mlir-opt says about the samples of each operation; one run for all of them."""
    cases = [(name, print_op(m)) for name in SAMPLES for m in modules(name)]
    errors = rejected([text for _, text in cases])
    out: dict[str, list[str]] = {}
    for (name, _), error in zip(cases, errors, strict=True):
        out.setdefault(name, []).extend([error] if error else [])
    return out


@pytest.mark.t1
@pytest.mark.parametrize("name", NAMES)
def test_accepted_by_mlir_opt(name: str, by_mlir_opt: dict[str, list[str]]):
    assert by_mlir_opt.get(name, ["no sample"]) == []


@pytest.mark.t1
def test_locations_are_accepted_by_mlir_opt():
    text = print_op(modules("scf.while")[0], locations=True)
    printed = accepted(text, "--mlir-print-debuginfo")
    assert 'loc("kernel.py":3:5 to :10)' in printed
    assert 'loc("main.py":7:1)' in printed
    assert "callsite(" in printed
