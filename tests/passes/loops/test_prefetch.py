# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`prefetch_stages=` and `vectorize=` of `cutlass.range`: the same results, loads that begin turns
before they are used, and a warning where that is not possible."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from codegen.on_cpu import CpuKernel
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.base.log import PerformanceWarning
from opencute.cute.runtime import from_dlpack
from opencute.ir.core import Op
from opencute.ir.parser import parse
from opencute.passes.loops.prefetch import prefetch
from opencute.passes.simplify import simplify
from passes.simulated import apply, run

pytestmark = pytest.mark.t1

ROWS = 12
X = np.arange(ROWS * 4, dtype=np.int32).reshape(ROWS, 4) * 7 % 23


def by_copies(x: Any, o: Any, n: Any, stages: int) -> None:
    total = cutlass.Int32(0)
    r = cute.make_rmem_tensor(4, cutlass.Int32)
    for i in cutlass.range(n, prefetch_stages=stages):
        cute.autovec_copy(x[i, None], r)
        for j in cutlass.range_constexpr(4):
            total = total * 3 + r[j]
    o[0] = total


def by_elements(x: Any, o: Any, n: Any, stages: int) -> None:
    total = cutlass.Int32(0)
    for i in cutlass.range(1, n, 2, prefetch_stages=stages):
        total = total * 3 + x[i, 1] - x[i - 1, 2]
    o[0] = total


def by_vectors(x: Any, o: Any, n: Any, stages: int) -> None:
    r = cute.make_rmem_tensor(4, cutlass.Int32)
    r.fill(1)
    for i in cutlass.range(n - 1, -1, -1, prefetch_stages=stages):
        r.store(r.load() * 2 + x[i, None].load())
    o[0] = r[0] * 5 + r[3]


def some_of_them(x: Any, o: Any, n: Any, stages: int) -> None:
    """The second load depends on the first one."""
    total = cutlass.Int32(0)
    for i in cutlass.range(n, prefetch_stages=stages):
        first = x[i, 0]
        total = total * 3 + x[first % 4, 1]
    o[0] = total


BODIES = (by_copies, by_elements, by_vectors, some_of_them)


def traced(body: Any, stages: int) -> Op:
    @cute.kernel
    def kernel(x: cute.Tensor, o: cute.Tensor, count: cute.Tensor):
        body(x, o, count[0], stages)

    @cute.jit
    def host(x: cute.Tensor, o: cute.Tensor, count: cute.Tensor):
        kernel(x, o, count).launch(grid=1, block=1)

    arrays = (X, np.zeros(1, np.int32), np.zeros(1, np.int32))
    with KNOBS.override(target="sim:sm_80"):
        compiled = cute.compile(host, *(from_dlpack(a, assumed_align=16) for a in arrays))
        return parse(str(compiled.__mlir__))


def loads_in_loop(module: Op) -> int:
    (loop,) = [op for op in module.walk() if op.name == "scf.for"]
    return sum("load" in op.name for op in loop.walk())


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("body", BODIES, ids=lambda b: b.__name__)
def test_results_stay(body: Any, stages: int) -> None:
    body = cute.jit(body)
    for n in (0, 1, 2, 7, ROWS):
        args = (X, np.zeros(1, np.int32), np.array([n], np.int32))
        plain = run(traced(body, 0), 1, 1, args)[1] if n in (0, 7) else None
        module = traced(body, stages)
        before = run(module.clone({}), 1, 1, args)[1]
        after = run(apply(module.clone({}), simplify, prefetch, name="sm_80"), 1, 1, args)[1]
        assert plain is None or before.tolist() == plain.tolist()
        assert after.tolist() == before.tolist()
        out = np.zeros(1, np.int32)
        CpuKernel(module)(X.copy(), out, np.array([n], np.int32))
        assert out.tolist() == before.tolist()


def test_nothing_beyond_the_range_is_loaded() -> None:
    """The simulator checks bounds: the array ends with the range."""
    module = apply(traced(cute.jit(by_copies), 3), simplify, prefetch, name="sm_80")
    out = run(module, 1, 1, (X, np.zeros(1, np.int32), np.array([ROWS], np.int32)))
    assert out[1][0] != 0


def machine(body: Any, stages: int, arch: str = "sm_80") -> tuple[str, str, list[str]]:
    """PTX, SASS and warnings."""
    fn = cute.jit(body)

    @cute.kernel
    def kernel(x: cute.Tensor, o: cute.Tensor, n: cutlass.Int32):
        fn(x, o, n, stages)

    @cute.jit
    def host(x: cute.Tensor, o: cute.Tensor, n: cutlass.Int32):
        kernel(x, o, n).launch(grid=1, block=1)

    args = (from_dlpack(X, assumed_align=16), from_dlpack(np.zeros(1, np.int32)))
    with KNOBS.override(target=f"sim:{arch}", advisories=True, cache_enabled=False):
        compiled = cute.compile(host, *args, 4)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assert compiled.__cubin__
            sass = compiled.__sass__
    texts = [str(w.message) for w in found if issubclass(w.category, PerformanceWarning)]
    return compiled.__ptx__, str(sass), texts


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_machine_code_loads_ahead(arch: str) -> None:
    text, _, told = machine(by_copies, 2, arch)
    assert not told
    # Two loads before the loop; in it, one whose result no instruction of the same turn calculates
    # with: it is handed on by moves.
    head, loop = text.split("$L__BB0_4:", 1) if "$L__BB0_4:" in text else ("", "")
    assert head.count("ld.global") == 2, text
    turn = loop.split("bra", 1)[0]
    (line,) = [x for x in turn.splitlines() if "ld.global.v4" in x]
    made = re.findall(r"%r\d+", line.split("}")[0])
    after = turn.split(line, 1)[1]
    users = [x for x in after.splitlines() if any(re.search(rf"{re.escape(r)}\b", x) for r in made)]
    assert users and all(x.strip().startswith("mov") for x in users), users
    plain, _, _ = machine(by_copies, 0, arch)
    assert plain.count("ld.global") == 1


def stores(x: Any, o: Any, n: Any, stages: int) -> None:
    for i in cutlass.range(n, prefetch_stages=stages):
        o[0] = x[i, 0]


def meets(x: Any, o: Any, n: Any, stages: int) -> None:
    total = cutlass.Int32(0)
    for i in cutlass.range(n, prefetch_stages=stages):
        total += x[i, 0]
        cute.arch.sync_threads()
    o[0] = total


def in_a_branch(x: Any, o: Any, n: Any, stages: int) -> None:
    total = cutlass.Int32(0)
    for i in cutlass.range(n, prefetch_stages=stages):
        if i > 1:
            total += x[i, 0]
    o[0] = total


def nothing_to_load(x: Any, o: Any, n: Any, stages: int) -> None:
    total = x[0, 0]
    for i in cutlass.range(n, prefetch_stages=stages):
        total += i
    o[0] = total


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (stores, "it writes to global memory"), (meets, "waits for what does"),
        (in_a_branch, "in a branch"), (nothing_to_load, "no loads from global memory"),
        (some_of_them, "an address is not made of the loop's variable only"),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_met_is_told(body: Any, why: str) -> None:
    _, _, told = machine(body, 2)
    (text,) = told
    assert "[OC1070]" in text and why in text and "cutlass.range" in text
    assert not machine(body, 0)[2]


def vectorized(x: Any, o: Any, n: Any, stages: int) -> None:
    for i in cutlass.range(8 if stages else n, vectorize=True):
        o[0] = o[0] + i * n


def test_vectorize_lays_turns_side_by_side_or_says_why_not() -> None:
    text, _, told = machine(vectorized, 1)
    assert not told and "bra" not in text
    _, _, told = machine(vectorized, 0)
    assert len(told) == 1 and "[OC1069]" in told[0] and "unknown number of turns" in told[0]
