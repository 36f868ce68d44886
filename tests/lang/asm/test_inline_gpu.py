# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The same inline PTX on a GPU and in the simulator: equal bits, or within PTX's bounds.

Every row is compiled through ptxas here too, which needs no GPU.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.runtime import driver

_INTS = np.array(
    [0, 1, 2, 5, 31, 32, 33, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, -(1 << 31), -1, -2,
     0x12345678, -559038737, 0x01020304, -32768], np.int32,
)  # fmt: skip
_FLOATS = np.array(
    [0.0, -0.0, 1.0, -1.5, 0.1, 3.1415927, 1e-40, -1e-40, 1e30, -3e38, np.inf, -np.inf, np.nan,
     65504.0, 65520.0, 448.0, 500.0, 0.333333, 16777217.0, -2.5], np.float32,
)  # fmt: skip
N = 512
A = np.resize(_INTS, N)
B = np.repeat(_INTS, N // _INTS.size + 1)[:N]
X = np.resize(_FLOATS, N).view(np.int32)
Y = np.repeat(_FLOATS, N // _FLOATS.size + 1)[:N].view(np.int32)

# $0 result, $1 and $2 operands, all 32 bits; the second part of a row is the ulp allowed (f32).
EXACT = {
    "add.s32 $0, $1, $2;", "sub.u32 $0, $1, $2;", "add.sat.s32 $0, $1, $2;",
    "mul.lo.s32 $0, $1, $2;", "mul.hi.s32 $0, $1, $2;", "mul.hi.u32 $0, $1, $2;",
    "mul24.lo.s32 $0, $1, $2;", "mul24.hi.u32 $0, $1, $2;", "mad.lo.u32 $0, $1, $2, $1;",
    "min.s32 $0, $1, $2;", "max.u32 $0, $1, $2;", "abs.s32 $0, $1;", "neg.s32 $0, $1;",
    "and.b32 $0, $1, $2;", "or.b32 $0, $1, $2;", "xor.b32 $0, $1, $2;", "not.b32 $0, $1;",
    "cnot.b32 $0, $1;", "shl.b32 $0, $1, $2;", "shr.u32 $0, $1, $2;", "shr.s32 $0, $1, $2;",
    "shf.l.wrap.b32 $0, $1, $2, $2;", "shf.r.clamp.b32 $0, $1, $2, $2;",
    "prmt.b32 $0, $1, $2, 0x7531;", "prmt.b32 $0, $1, $2, $1;", "prmt.b32.f4e $0, $1, $2, $1;",
    "prmt.b32.b4e $0, $1, $2, $1;", "prmt.b32.ecl $0, $1, $2, $1;", "prmt.b32.ecr $0, $1, $2, $1;",
    "prmt.b32.rc16 $0, $1, $2, $1;", "lop3.b32 $0, $1, $2, $1, 0x96;",
    "bfe.u32 $0, $1, $2, 5;", "bfe.s32 $0, $1, $2, 5;", "bfe.s32 $0, $1, 28, $2;",
    "bfi.b32 $0, $1, $2, 4, 8;", "bfi.b32 $0, $1, $2, $1, $2;", "popc.b32 $0, $1;",
    "clz.b32 $0, $1;", "brev.b32 $0, $1;", "bfind.u32 $0, $1;", "bfind.s32 $0, $1;",
    "bfind.shiftamt.u32 $0, $1;", "bmsk.clamp.b32 $0, $1, $2;", "bmsk.wrap.b32 $0, $1, $2;",
    "szext.clamp.s32 $0, $1, $2;", "szext.wrap.u32 $0, $1, $2;", "sad.s32 $0, $1, $2, 7;",
    "dp4a.s32.s32 $0, $1, $2, 1;", "dp4a.u32.s32 $0, $1, $2, 1;", "dp2a.lo.s32.u32 $0, $1, $2, 1;",
    "slct.b32.s32 $0, $1, $2, $1;",
    "{ .reg .pred p; setp.lt.s32 p, $1, $2; selp.b32 $0, 1, 0, p; }",
    "{ .reg .pred p, q; setp.hi.u32 p|q, $1, $2; selp.b32 $0, 1, 0, q; }",
    "set.le.u32.s32 $0, $1, $2;",
    "{ .reg .b64 t; mul.wide.s32 t, $1, $2; shr.u64 t, t, 13; cvt.u32.u64 $0, t; }",
    "cvt.sat.s8.s32 $0, $1;", "cvt.u8.u32 $0, $1;", "cvt.s16.s32 $0, $1;",
    "cvt.rn.f32.s32 $0, $1;", "cvt.rz.f32.u32 $0, $1;", "cvt.rp.f32.s32 $0, $1;",
    "cvt.pack.sat.s16.s32 $0, $1, $2;", "cvt.pack.sat.u8.s32.b32 $0, $1, $2, 0;",
    "{ .reg .b16 a, b; mov.b32 {a, b}, $1; mov.b32 $0, {b, a}; }",
}  # fmt: skip
FLOAT_EXACT = {
    *(f"{op}.{mode}.f32 $0, $1, $2;" for op in ("add", "sub", "mul", "div")
      for mode in ("rn", "rz", "rm", "rp")),
    *(f"fma.{mode}.f32 $0, $1, $2, $1;" for mode in ("rn", "rz", "rm", "rp")),
    *(f"{op}.{mode}.f32 $0, $1;" for op in ("rcp", "sqrt") for mode in ("rn", "rz", "rm", "rp")),
    "add.rn.ftz.f32 $0, $1, $2;", "mul.rn.sat.f32 $0, $1, $2;", "min.f32 $0, $1, $2;",
    "max.NaN.f32 $0, $1, $2;", "abs.f32 $0, $1;", "neg.f32 $0, $1;", "copysign.f32 $0, $1, $2;",
    "cvt.rni.f32.f32 $0, $1;", "cvt.rzi.s32.f32 $0, $1;", "cvt.rmi.u32.f32 $0, $1;",
    "cvt.rpi.s8.f32 $0, $1;", "cvt.sat.f32.f32 $0, $1;", "cvt.rn.f16x2.f32 $0, $1, $2;",
    "cvt.rz.bf16x2.f32 $0, $1, $2;", "cvt.rn.relu.bf16x2.f32 $0, $1, $2;",
    "{ .reg .b16 h; cvt.rn.f16.f32 h, $1; cvt.f32.f16 $0, h; }",
    "cvt.rna.tf32.f32 $0, $1;",
    "{ .reg .b16 h; cvt.rn.satfinite.e4m3x2.f32 h, $1, $2; cvt.rn.f16x2.e4m3x2 $0, h; }",
    "{ .reg .b16 h; cvt.rn.satfinite.e5m2x2.f32 h, $1, $2; cvt.rn.f16x2.e5m2x2 $0, h; }",
    "add.rn.f16x2 $0, $1, $2;", "fma.rn.bf16x2 $0, $1, $2, $1;", "max.bf16x2 $0, $1, $2;",
    "mul.rn.f16x2 $0, $1, $2;", "neg.f16x2 $0, $1;", "min.NaN.f16x2 $0, $1, $2;",
    "{ .reg .pred p; setp.ltu.f32 p, $1, $2; selp.b32 $0, 1, 0, p; }",
    "{ .reg .pred p; testp.subnormal.f32 p, $1; selp.b32 $0, 1, 0, p; }",
}  # fmt: skip
CLOSE = {
    "rcp.approx.f32 $0, $1;": 1, "rsqrt.approx.f32 $0, $1;": 2, "sqrt.approx.f32 $0, $1;": 3,
    "div.full.f32 $0, $1, $2;": 2, "ex2.approx.f32 $0, $1;": 2,
}  # fmt: skip


@cute.kernel
def _kernel(text: cutlass.Constexpr, a: cute.Tensor, b: cute.Tensor, o: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    o[i] = cute.arch.inline_ptx(text, a[i], b[i], results=cutlass.Int32)


@cute.jit
def _launch(text: cutlass.Constexpr, a: cute.Tensor, b: cute.Tensor, o: cute.Tensor):
    _kernel(text, a, b, o).launch(grid=(1, 1, 1), block=(N, 1, 1))


def _compiled(where: str, text: str, a: Any, b: Any, out: Any) -> Any:
    with KNOBS.override(target=where):
        return cute.compile(_launch, text, from_dlpack(a), from_dlpack(b), from_dlpack(out))


def run(where: str, text: str, a: Any, b: Any) -> Any:
    out = np.zeros(N, np.int32)
    compiled = _compiled(where, text, a, b, out)
    with KNOBS.override(target=where):
        compiled(from_dlpack(a), from_dlpack(b), from_dlpack(out))
    return out


def inputs(text: str) -> tuple[Any, Any]:
    return (X, Y) if text in FLOAT_EXACT or text in CLOSE else (A, B)


def _same(want: Any, got: Any, text: str) -> Any:
    """Where results agree: equal bits, or NaN in both, as PTX leaves the payload of a NaN open."""
    if "bf16" in text:
        types = [np.dtype(ml_dtypes.bfloat16)] * 2
    elif "f16" in text:
        types = [np.dtype(np.float16)] * 2
    else:
        types = [np.dtype(np.float32)]
    same = np.ones(want.shape, bool)
    for i, t in enumerate(types):
        x, y = (v.view(t).reshape(-1, len(types))[:, i] for v in (want, got))
        bits = f"u{t.itemsize}"
        same &= (x.view(bits) == y.view(bits)) | (np.isnan(x) & np.isnan(y))
    return same


ROWS = sorted(EXACT | FLOAT_EXACT | set(CLOSE))


@pytest.mark.t1
def test_the_simulator_runs_every_row_and_ptxas_takes_it() -> None:
    for text in ROWS:
        run("sim:sm_90a", text, *inputs(text))
    # One kernel with all of them, so that ptxas starts once.
    whole = "\n".join("{ " + t.replace("$0", "r") + " xor.b32 $0, $0, r; }" for t in ROWS)
    text = "{ .reg .b32 r; mov.b32 $0, 0;\n" + whole + "}"
    compiled = _compiled("sim:sm_90a", text, A, B, A.copy())
    assert compiled.__cubin__.startswith(b"\x7fELF")


@pytest.mark.t2
@pytest.mark.skipif(not driver.available(), reason="needs a GPU")
@pytest.mark.parametrize("text", ROWS)
def test_the_gpu_agrees(text: str) -> None:
    a, b = inputs(text)
    simulated, real = run("sim:sm_90a", text, a, b), run("cuda", text, a, b)
    if text not in CLOSE:
        floats = re.search(r"(abs|neg|min|max|add|fma|cvt)[.a-zA-Z0-9]*[.]b?f(16|32)", text)
        same = _same(simulated, real, text) if floats else simulated == real
        bad = np.flatnonzero(~same)
        first = bad[:5]
        assert not bad.size, [
            (hex(a[i]), hex(b[i]), hex(simulated[i]), hex(real[i])) for i in first
        ]
        return
    want, got = simulated.view(np.float32), real.view(np.float32)
    finite = np.isfinite(want) & np.isfinite(got) & (np.abs(want) > 1e-37)
    error = np.abs(got[finite].astype(np.float64) - want[finite]) / np.spacing(np.abs(want[finite]))
    assert (error <= CLOSE[text]).all()
    assert (np.isnan(want) == np.isnan(got)).all()
