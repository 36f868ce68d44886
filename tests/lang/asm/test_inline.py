# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Inline PTX: in the simulator against Python, in machine code by what ptxas takes, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.errors import (
    SimulationError,
    ToolchainError,
    TypeMismatchError,
    VerificationError,
)
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t1

X = np.arange(64, dtype=np.int32) * 7919 - 200_000


def each(text: str, results: Any, x: np.ndarray = X, **options: Any) -> np.ndarray:
    """What a piece of PTX gives for each element of an array."""
    out = np.zeros(x.shape, np.int32)

    def body(a: Any, o: Any) -> None:
        i = cute.arch.thread_idx()[0]
        o[i] = cutlass.Int32(cute.arch.inline_ptx(text, a[i], results=results, **options))

    on_device(body, x, out, block=(x.size, 1, 1))
    return out


def test_an_instruction() -> None:
    assert (each("add.s32 $0, $1, 5;", cutlass.Int32) == X + 5).all()


def test_registers_predicates_and_blocks() -> None:
    text = """{ .reg .pred p, q; .reg .b32 t<2>;
        setp.lt.s32 p|q, $1, 0;
        mov.b32 t0, 1;  { .reg .b32 t0; mov.b32 t0, 99; }   // a scope of its own
        @p mov.b32 t1, -1;
        @q mov.b32 t1, t0;
        mov.b32 $0, t1; }"""
    assert (each(text, cutlass.Int32) == np.where(X < 0, -1, 1)).all()


def test_comparisons_that_are_combined() -> None:
    text = """{ .reg .pred p, q; setp.gt.s32 p, $1, -100000; setp.lt.and.s32 q, $1, 100000, p;
        selp.b32 $0, 1, 0, q; }"""
    assert (each(text, cutlass.Int32) == ((X > -100_000) & (X < 100_000))).all()


def test_a_predicate_is_a_result_and_an_operand() -> None:
    def body(a: Any, o: Any) -> None:
        i = cute.arch.thread_idx()[0]
        p = cute.arch.inline_ptx("setp.gt.s32 $0, $1, 0;", a[i], results=cutlass.Boolean)
        o[i] = cute.arch.inline_ptx("selp.b32 $0, 7, 3, $1;", p, results=cutlass.Int32)

    out = np.zeros(64, np.int32)
    on_device(body, X, out, block=(64, 1, 1))
    assert (out == np.where(X > 0, 7, 3)).all()


def test_loops_with_labels() -> None:
    text = """{ .reg .pred p; .reg .b32 t; abs.s32 t, $1; mov.b32 $0, 0;
        LOOP: setp.eq.b32 p, t, 0; @p bra DONE;
        add.u32 $0, $0, 1; shr.u32 t, t, 1; bra.uni LOOP; DONE: }"""
    assert each(text, cutlass.Int32).tolist() == [abs(int(x)).bit_length() for x in X]


def test_several_results_and_packing() -> None:
    def body(a: Any, o: Any) -> None:
        i = cute.arch.thread_idx()[0]
        low, high = cute.arch.inline_ptx(
            "mov.b32 {$0, $1}, $2;", a[i], results=(cutlass.Uint16, cutlass.Int16)
        )
        o[i] = cute.arch.inline_ptx("mov.b32 $0, {$2, $1};", low, high, results=cutlass.Int32)

    out = np.zeros(64, np.int32)
    on_device(body, X, out, block=(64, 1, 1))
    swapped = (X.view(np.uint32) << np.uint32(16)) | (X.view(np.uint32) >> np.uint32(16))
    assert (out.view(np.uint32) == swapped).all()


def test_floats_go_in_and_out() -> None:
    def body(a: Any, o: Any) -> None:
        i = cute.arch.thread_idx()[0]
        x = cutlass.Float32(a[i])
        y = cute.arch.inline_ptx("fma.rn.f32 $0, $1, 0f3F000000, 1.5;", x, results=cutlass.Float32)
        o[i] = cutlass.Int32(y)

    out = np.zeros(64, np.int32)
    on_device(body, X, out, block=(64, 1, 1))
    assert (out == np.trunc(X * np.float32(0.5) + np.float32(1.5)).astype(np.int32)).all()


def test_memory_is_read_and_written() -> None:
    def body(a: Any, o: Any) -> None:
        i = cute.arch.thread_idx()[0]
        first, second = cute.arch.inline_ptx(
            "ld.global.nc.v2.b32 {$0, $1}, [$2+8];", (a.iterator + 4 * i).align(8),
            results=(cutlass.Int32, cutlass.Int32), reads=True,
        )  # fmt: skip
        cute.arch.inline_ptx("st.global.b32 [$0], $1;", o.iterator + i, first - second, writes=True)

    out = np.zeros(16, np.int32)
    on_device(body, X, out, block=(16, 1, 1))
    assert (out == X[2::4] - X[3::4]).all()


def test_memory_is_checked() -> None:
    def body(a: Any, o: Any) -> None:
        cute.arch.inline_ptx("ld.global.b32 $0, [$1+256];", a.iterator, results=cutlass.Int32)
        o[0] = cute.arch.inline_ptx(
            "ld.global.b32 $0, [$1+256];", a.iterator, results=cutlass.Int32, volatile=True
        )

    with pytest.raises(SimulationError) as e:
        on_device(body, X, np.zeros(1, np.int32))
    assert e.value.code in ("OC3101", "OC3102", "OC3103") and e.value.loc is not None


def test_special_registers_votes_and_shuffles() -> None:
    text = """{ .reg .pred p; .reg .b32 l, m; mov.u32 l, %laneid; and.b32 l, l, 1;
        setp.ne.b32 p, l, 0; vote.sync.ballot.b32 m, p, 0xffffffff;
        shfl.sync.bfly.b32 l, $1, 1, 31, 0xffffffff; add.u32 $0, l, m; }"""
    got = each(text, cutlass.Int32, convergent=True).view(np.uint32)
    swapped = X.reshape(-1, 2)[:, ::-1].reshape(-1).view(np.uint32)
    assert (got == swapped + np.uint32(0xAAAAAAAA)).all()


def test_atomics() -> None:
    def body(o: Any) -> None:
        cute.arch.inline_ptx("red.global.add.u32 [$0], 2;", o.iterator, writes=True)

    out = np.zeros(1, np.int32)
    on_device(body, out, block=(64, 1, 1))
    assert out[0] == 128


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("frobnicate.b32 $0, $1;", "does not run frobnicate.b32"),
        ("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;", "does not run tcgen05"),
        ("add.s64 $0, $1, 1;", "has 32 bits, the instruction reads 64"),
        ("add.s32 $0, $1;", "takes 3 operands"),
        ("add.s32 $0, t, 1;", "there is no register t"),
        ("mov.u32 $0, %nosuch;", "there is no special register"),
        ("mov.u32 $0, $1", "semicolon"),
        (".local .b32 x; mov.u32 $0, $1;", "no directive"),
        ("@p mov.u32 $0, $1;", "there is no register p"),
        ("bra NOWHERE;", "no such label"),
        ("add.s32 $0, $1, 1.5;", "is no integer"),
        ("add.s32 $0, $1, 0x1ffffffff;", "does not fit"),
    ],
)
def test_what_the_simulator_does_not_run(text: str, complaint: str) -> None:
    with pytest.raises(SimulationError, match=complaint) as e:
        each(text, cutlass.Int32)
    assert e.value.code == "OC3090"
    assert e.value.loc is not None and e.value.loc.file == __file__


@pytest.mark.parametrize(
    ("constraints", "complaint"),
    [
        ("=r,z", "no constraint"),
        ("=r", "0 inputs"),
        ("=r,l,l", "2 inputs"),
        ("=d,r", "cannot hold"),
    ],
)
def test_wrong_constraints_are_errors_on_the_users_line(constraints: str, complaint: str) -> None:
    with pytest.raises(VerificationError, match=complaint) as e:
        each("mov.b32 $0, $1;", cutlass.Int32, constraints=constraints)
    assert e.value.code == "OC1490" and e.value.loc is not None and e.value.loc.file == __file__


def test_operands_that_no_register_holds() -> None:
    def body(a: Any, o: Any) -> None:
        cute.arch.inline_ptx("mov.b32 $0, $1;", a.load(), results=cutlass.Int32)

    with pytest.raises(TypeMismatchError) as e:
        on_device(body, X, np.zeros(1, np.int32))
    assert e.value.code == "OC1219"


# ---------------------------------------------------------------------- machine code
@cute.kernel
def _kernel(text: cutlass.Constexpr, a: cute.Tensor, o: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    x = a[i]
    o[i] = cute.arch.inline_ptx(
        text,
        x,
        results=cutlass.Int32,
    )


@cute.jit
def _launch(text: cutlass.Constexpr, a: cute.Tensor, o: cute.Tensor):
    _kernel(text, a, o).launch(grid=(1, 1, 1), block=(64, 1, 1))


def _compiled(text: str) -> Any:
    with KNOBS.override(target="sim"):
        return cute.compile(_launch, text, from_dlpack(X), from_dlpack(X.copy()))


def test_ptxas_names_the_users_line() -> None:
    compiled = _compiled("{ .reg .b32 t;\n mov.b33 t, $1;\n mov.b32 $0, t; }")
    with pytest.raises(ToolchainError, match="ptxas says") as e:
        _ = compiled.__cubin__
    assert e.value.code == "OC1566" and e.value.found == "mov.b33 t, $1;"
    assert e.value.loc is not None and e.value.loc.file == __file__
    line = Path(__file__).read_text().splitlines()[e.value.loc.line - 1]
    assert "inline_ptx" in line


def test_text_without_effects_is_merged_and_dropped() -> None:
    @cute.kernel
    def kernel(a: cute.Tensor, o: cute.Tensor):
        i = cute.arch.thread_idx()[0]
        p = cute.arch.inline_ptx("brev.b32 $0, $1;", a[i], results=cutlass.Int32)
        q = cute.arch.inline_ptx("brev.b32 $0, $1;", a[i], results=cutlass.Int32)
        cute.arch.inline_ptx("clz.b32 $0, $1;", a[i], results=cutlass.Int32)
        cute.arch.inline_ptx("popc.b32 $0, $1;", a[i], results=cutlass.Int32, volatile=True)
        o[i] = p + q

    @cute.jit
    def launch(a: cute.Tensor, o: cute.Tensor):
        kernel(a, o).launch(grid=(1, 1, 1), block=(64, 1, 1))

    with KNOBS.override(target="sim"):
        ptx = cute.compile(launch, from_dlpack(X), from_dlpack(X.copy())).__ptx__
    assert (ptx.count("brev"), ptx.count("clz"), ptx.count("popc")) == (1, 0, 1)
