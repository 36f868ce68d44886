# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The conversions of the helpers against the hardware's cvt, not-a-numbers included."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from opencute.native import helpers
from opencute.runtime.launch import KernelParams, LaunchConfig, launch
from opencute.runtime.memory import DeviceBuffer
from opencute.runtime.module import Module

pytestmark = pytest.mark.t2

CONVERT = """
.version 7.8
.target sm_80
.address_size 64
.visible .entry convert(.param .u64 out, .param .u64 in) {{
  .reg .b64 %rd<5>; .reg .b32 %r<5>; .reg .b16 %h; .reg .f32 %f;
  ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd3, %r4, {source}; add.s64 %rd3, %rd3, %rd2;
  mul.wide.u32 %rd4, %r4, {target}; add.s64 %rd4, %rd4, %rd1;
  {body}
  ret;
}}
"""

# input bytes, output bytes, code
BODIES = {
    "f32_to_f16": (
        4,
        2,
        "ld.global.f32 %f, [%rd3]; cvt.rn.f16.f32 %h, %f; st.global.b16 [%rd4], %h;",
    ),
    "f32_to_bf16": (
        4,
        2,
        "ld.global.f32 %f, [%rd3]; cvt.rn.bf16.f32 %h, %f; st.global.b16 [%rd4], %h;",
    ),
    "f16_to_f32": (
        2,
        4,
        "ld.global.b16 %h, [%rd3]; cvt.f32.f16 %f, %h; st.global.f32 [%rd4], %f;",
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_conversions_are_the_hardwares(name):
    source, target, body = BODIES[name]
    kernel = Module(CONVERT.format(source=source, target=target, body=body)).function("convert")
    all16 = np.arange(1 << 16, dtype=np.uint32)
    if source == 2:
        values = all16.astype(np.uint16).view(np.float16)
    else:
        random = np.random.default_rng(0).integers(0, 1 << 32, 1 << 20, dtype=np.uint32)
        values = np.concatenate([all16 << 16, all16 << 16 | 0x8000, random]).view(np.float32)
    inputs, out = DeviceBuffer.of(values), DeviceBuffer(values.size * target)
    params = KernelParams(ctypes.c_void_p(out.address), ctypes.c_void_p(inputs.address))
    launch(kernel, LaunchConfig(values.size // 256, 256), params)
    kind = np.uint16 if target == 2 else np.uint32
    assert np.array_equal(getattr(helpers, name)(values).view(kind), out.numpy(kind))
