# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The LLVM IR of an exported object.

In: the host function, the package that loaders read, the kernels' names. Out: a module with
``<prefix>__host`` (see `opencute.codegen.host` for its slots), ``<prefix>_Kernel_Module_Load`` and
``<prefix>_Kernel_Module_Unload``. It calls the CUDA driver by its public names.
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.codegen.host import HostCode
from opencute.runtime.aot.package import Package

__all__ = ["object_text"]

# CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES and _NON_PORTABLE_CLUSTER_SIZE_ALLOWED
_MAX_SMEM, _NON_PORTABLE_CLUSTER = 8, 14

_LOAD = """
define i32 @"{p}_Kernel_Module_Load"(ptr %module) {{
entry:
  %current = alloca ptr, align 8
  %device = alloca i32, align 4
  store ptr null, ptr %current
  %s0 = call i32 @cuInit(i32 0)
  %bad0 = icmp ne i32 %s0, 0
  br i1 %bad0, label %fail, label %context
context:
  %s1 = call i32 @cuCtxGetCurrent(ptr %current)
  %context0 = load ptr, ptr %current
  %none = icmp eq ptr %context0, null
  br i1 %none, label %primary, label %load
primary:
  %s2 = call i32 @cuDeviceGet(ptr %device, i32 0)
  %ordinal = load i32, ptr %device
  %s3 = call i32 @cuDevicePrimaryCtxRetain(ptr %current, i32 %ordinal)
  %bad3 = icmp ne i32 %s3, 0
  br i1 %bad3, label %fail, label %use
use:
  %context1 = load ptr, ptr %current
  %s4 = call i32 @cuCtxSetCurrent(ptr %context1)
  br label %load
load:
  %code = getelementptr i8, ptr @"{p}__package", i64 {cubin}
  %s5 = call i32 @cuModuleLoadData(ptr %module, ptr %code)
  %bad5 = icmp ne i32 %s5, 0
  br i1 %bad5, label %fail, label %get0
{gets}
get{count}:
  ret i32 0
fail:
  %status = phi i32 [ %s0, %entry ], [ %s3, %primary ], [ %s5, %load ]{phis}
  ret i32 %status
}}

define i32 @"{p}_Kernel_Module_Unload"(ptr %module) {{
  %handle = load ptr, ptr %module
  %status = call i32 @cuModuleUnload(ptr %handle)
  store ptr null, ptr %module
  ret i32 %status
}}
declare i32 @cuInit(i32)
declare i32 @cuCtxGetCurrent(ptr)
declare i32 @cuCtxSetCurrent(ptr)
declare i32 @cuDeviceGet(ptr, i32)
declare i32 @cuDevicePrimaryCtxRetain(ptr, i32)
declare i32 @cuFuncSetAttribute(ptr, i32, i32)
declare i32 @cuModuleLoadData(ptr, ptr)
declare i32 @cuModuleGetFunction(ptr, ptr, ptr)
declare i32 @cuModuleUnload(ptr)
"""
_GET = """get{i}:
  %place{i} = getelementptr ptr, ptr %module, i64 {slot}
  %module{i} = load ptr, ptr %module
  %g{i} = call i32 @cuModuleGetFunction(ptr %place{i}, ptr %module{i}, ptr @"{p}__name{i}")
  %gbad{i} = icmp ne i32 %g{i}, 0
  br i1 %gbad{i}, label %fail, label %set{i}
set{i}:
  %function{i} = load ptr, ptr %place{i}
  %a{i} = call i32 @cuFuncSetAttribute(ptr %function{i}, i32 {attribute}, i32 {smem})
  %w{i} = {wide}
  %n{i} = or i32 %a{i}, %w{i}
  %abad{i} = icmp ne i32 %n{i}, 0
  br i1 %abad{i}, label %fail, label %get{next}"""
_NOTHING = """
define i32 @"{p}_Kernel_Module_Load"(ptr %module) {{
  ret i32 0
}}
define i32 @"{p}_Kernel_Module_Unload"(ptr %module) {{
  ret i32 0
}}
"""


def object_text(
    prefix: str, host: HostCode, package: Package, smem: Sequence[int], wide: Sequence[bool]
) -> str:
    """The text of the object's module.

    Args:
        prefix: what its symbols begin with.
        host: the host function.
        package: what loaders read.
        smem: bytes of dynamic shared memory that each launch may ask for.
        wide: whether each launch may ask for clusters of more than 8 blocks.
    """
    data = package.to_bytes()
    entry = host.llvm_ir.replace(f'define i32 @"{host.name}"(', f'define i32 @"{prefix}__host"(')
    lines = [
        f'@"{prefix}__package" = constant [{len(data)} x i8] c"{_quoted(data)}", align 64',
        f'@llvm.used = appending global [1 x ptr] [ptr @"{prefix}__package"], '
        'section "llvm.metadata"',
        entry,
        _loader(prefix, host.launches, package.cubin_offset, smem, wide),
    ]
    return "\n".join(lines)


def _loader(
    prefix: str, launches: Sequence[str], cubin: int, smem: Sequence[int], wide: Sequence[bool]
) -> str:
    if not launches:
        return _NOTHING.format(p=prefix)
    names = [
        f'@"{prefix}__name{i}" = private constant [{len(n) + 1} x i8] c"{_quoted(n.encode())}\\00"'
        for i, n in enumerate(launches)
    ]
    allow = f"call i32 @cuFuncSetAttribute(ptr %function{{}}, i32 {_NON_PORTABLE_CLUSTER}, i32 1)"
    gets = [
        _GET.format(
            i=i, slot=i + 1, next=i + 1, p=prefix, smem=n, attribute=_MAX_SMEM,
            wide=allow.format(i) if large else "add i32 0, 0",
        )
        for i, (n, large) in enumerate(zip(smem, wide, strict=True))
    ]  # fmt: skip
    phis = "".join(f", [ %g{i}, %get{i} ], [ %n{i}, %set{i} ]" for i in range(len(launches)))
    code = _LOAD.format(p=prefix, cubin=cubin, gets="\n".join(gets), count=len(launches), phis=phis)
    return "\n".join([*names, code])


_PLAIN = frozenset(range(32, 127)) - {ord('"'), ord("\\")}


def _quoted(data: bytes) -> str:
    return "".join([chr(b) if b in _PLAIN else f"\\{b:02X}" for b in data])
