# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX that the GPU tests of the runtime launch; the driver assembles it."""

from __future__ import annotations

HEADER = ".version 7.8\n.target sm_80\n.address_size 64\n"

# out[i] = value for i < n
FILL = (
    HEADER
    + """
.visible .entry fill(.param .u64 out, .param .u32 value, .param .u32 n) {
  .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %p;
  ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [value]; ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p, %r6, %r2;
  @%p ret;
  mul.wide.u32 %rd2, %r6, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
.visible .global .align 4 .b32 counter;
"""
)

# The last thread writes through all of its dynamic shared memory to out[0].
SHARED = (
    HEADER
    + """
.extern .shared .align 16 .b8 dynamic[];
.visible .entry shared(.param .u64 out, .param .u32 last) {
  .reg .b64 %rd<3>; .reg .b32 %r<6>;
  ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [last];
  mov.u32 %r2, dynamic;
  add.u32 %r3, %r2, %r1;
  mov.u32 %r4, 4711;
  st.shared.u32 [%r3], %r4;
  ld.shared.u32 %r5, [%r3];
  st.global.u32 [%rd1], %r5;
  ret;
}
"""
)

# out[block] = blocks per cluster
CLUSTER = """
.version 7.8
.target sm_90
.address_size 64
.visible .entry cluster(.param .u64 out) {
  .reg .b64 %rd<4>; .reg .b32 %r<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %cluster_nctaid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r2;
  ret;
}
"""

# Reads address 0.
FAULT = (
    HEADER
    + """
.visible .entry fault() {
  .reg .b64 %rd; .reg .b32 %r;
  mov.u64 %rd, 0;
  ld.global.u32 %r, [%rd];
  st.global.u32 [%rd], %r;
  ret;
}
"""
)
