# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR text of the simulator's helpers.

In: where a NumPy array keeps its data pointer. Out: two modules. `wide_text` has loops that gain
from LLVM's vectoriser (conversions, the bounds check), `copies_text` has gather and scatter,
which do not, and so need not wait for it. Every ``py_*`` function is the body of a Python builtin
(METH_FASTCALL): ``py_f32_to_f16(dst, src, n)``, ``py_gather4(dst, memory, offsets, n, last)``,
``py_scatter4(memory, src, offsets, n, last)``, where ``last`` is the last offset at which an item
fits. They trust their arguments; the wrappers in `opencute.native.helpers` check them.
"""

from __future__ import annotations

__all__ = ["CONVERSIONS", "WIDTHS", "copies_text", "wide_text"]

WIDTHS = (1, 2, 4, 8, 16)

_LOOP = """
define {result} @{name}({params}) {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]{phis}
{body}
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:{finish}
}}
"""

# Not-a-number becomes what the hardware's cvt returns: 0x7fff in 16 bits, 0x7fffffff in 32.
_F32_TO_F16 = """
  %sp = getelementptr inbounds float, ptr %s, i64 %i
  %v = load float, ptr %sp, align 1
  %nan = fcmp uno float %v, 0.0
  %h = fptrunc float %v to half
  %b = bitcast half %h to i16
  %r = select i1 %nan, i16 32767, i16 %b
  %dp = getelementptr inbounds i16, ptr %d, i64 %i
  store i16 %r, ptr %dp, align 1"""

_F16_TO_F32 = """
  %sp = getelementptr inbounds half, ptr %s, i64 %i
  %v = load half, ptr %sp, align 1
  %f = fpext half %v to float
  %nan = fcmp uno float %f, 0.0
  %b = bitcast float %f to i32
  %r = select i1 %nan, i32 2147483647, i32 %b
  %dp = getelementptr inbounds i32, ptr %d, i64 %i
  store i32 %r, ptr %dp, align 1"""

_F32_TO_BF16 = """
  %sp = getelementptr inbounds i32, ptr %s, i64 %i
  %v = load i32, ptr %sp, align 1
  %hi = lshr i32 %v, 16
  %odd = and i32 %hi, 1
  %half = add i32 %odd, 32767
  %sum = add i32 %v, %half
  %top = lshr i32 %sum, 16
  %mag = and i32 %v, 2147483647
  %nan = icmp ugt i32 %mag, 2139095040
  %sel = select i1 %nan, i32 32767, i32 %top
  %r = trunc i32 %sel to i16
  %dp = getelementptr inbounds i16, ptr %d, i64 %i
  store i16 %r, ptr %dp, align 1"""

CONVERSIONS = {
    "f32_to_f16": _F32_TO_F16,
    "f16_to_f32": _F16_TO_F32,
    "f32_to_bf16": _F32_TO_BF16,
}

# Offsets are compared unsigned, so that a negative one is beyond every end.
_ANY_BAD = """
  %op = getelementptr inbounds i64, ptr %o, i64 %i
  %off = load i64, ptr %op, align 1
  %bad = icmp ugt i64 %off, %last
  %acc1 = or i1 %acc, %bad"""

# The second loop is entered only when some lane is bad, so it always leaves through `found`.
_FIRST_BAD = """
define i64 @first_bad(ptr noalias %o, i64 %n, i64 %last) {
entry:
  %any = call i1 @any_bad(ptr %o, i64 %n, i64 %last)
  br i1 %any, label %loop, label %clean
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %op = getelementptr inbounds i64, ptr %o, i64 %i
  %off = load i64, ptr %op, align 1
  %bad = icmp ugt i64 %off, %last
  %next = add nuw nsw i64 %i, 1
  br i1 %bad, label %found, label %loop
found:
  ret i64 %i
clean:
  ret i64 -1
}
"""

_GATHER = """
  %op = getelementptr inbounds i64, ptr %o, i64 %i
  %off = load i64, ptr %op, align 1
  %sp = getelementptr inbounds i8, ptr %m, i64 %off
  %v = load {ty}, ptr %sp, align 1
  %dp = getelementptr inbounds {ty}, ptr %v0, i64 %i
  store {ty} %v, ptr %dp, align 1"""

_SCATTER = """
  %op = getelementptr inbounds i64, ptr %o, i64 %i
  %off = load i64, ptr %op, align 1
  %sp = getelementptr inbounds {ty}, ptr %v0, i64 %i
  %v = load {ty}, ptr %sp, align 1
  %dp = getelementptr inbounds i8, ptr %m, i64 %off
  store {ty} %v, ptr %dp, align 1"""

_DECLARATIONS = """
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
"""

_CONVERT_CALL = """
define ptr @py_{name}(ptr %self, ptr %args, i64 %nargs) {{
{unpack}
  call void @{name}(ptr %p0, ptr %p1, i64 %i2)
  %none = call ptr @PyLong_FromLongLong(i64 -1)
  ret ptr %none
}}
"""

_COPY_CALL = """
define ptr @py_{name}(ptr %self, ptr %args, i64 %nargs) {{
entry:
{unpack}
  %bad = call i64 @first_bad(ptr %p2, i64 %i3, i64 %i4)
  %ok = icmp slt i64 %bad, 0
  br i1 %ok, label %copy, label %done
copy:
  call void @{name}(ptr %p0, ptr %p1, ptr %p2, i64 %i3)
  br label %done
done:
  %r = call ptr @PyLong_FromLongLong(i64 %bad)
  ret ptr %r
}}
"""


def _unpack(kinds: str, data_offset: int) -> str:
    """Arguments 0, 1, ... as %p<k> (an array's data pointer) or %i<k> (an integer)."""
    lines: list[str] = []
    for k, kind in enumerate(kinds):
        lines.append(f"  %a{k} = getelementptr inbounds ptr, ptr %args, i64 {k}")
        lines.append(f"  %o{k} = load ptr, ptr %a{k}")
        if kind == "p":
            lines.append(f"  %d{k} = getelementptr inbounds i8, ptr %o{k}, i64 {data_offset}")
            lines.append(f"  %p{k} = load ptr, ptr %d{k}")
        else:
            lines.append(f"  %i{k} = call i64 @PyLong_AsLongLong(ptr %o{k})")
    return "\n".join(lines)


def _void_loop(name: str, params: str, body: str) -> str:
    return _LOOP.format(
        name=name, params=params, body=body, result="void", phis="", finish="\n  ret void"
    )


def wide_text(data_offset: int) -> str:
    """The conversions and ``first_bad``.

    Args:
        data_offset: where a NumPy array object keeps its data pointer, in bytes.
    """
    parts = [_DECLARATIONS]
    for name, body in CONVERSIONS.items():
        parts.append(_void_loop(name, "ptr noalias %d, ptr noalias %s, i64 %n", body))
        parts.append(_CONVERT_CALL.format(name=name, unpack=_unpack("ppi", data_offset)))
    parts.append(
        _LOOP.format(
            name="any_bad",
            params="ptr noalias %o, i64 %n, i64 %last",
            result="i1",
            phis="\n  %acc = phi i1 [ false, %entry ], [ %acc1, %loop ]",
            body=_ANY_BAD,
            finish="\n  %r = phi i1 [ false, %entry ], [ %acc1, %loop ]\n  ret i1 %r",
        )
    )
    parts.append(_FIRST_BAD)
    return "".join(parts)


def copies_text(data_offset: int) -> str:
    """Gather and scatter of every width; ``first_bad`` is imported."""
    parts = [_DECLARATIONS, "declare i64 @first_bad(ptr, i64, i64)\n"]
    unpack = _unpack("pppii", data_offset)
    for width in WIDTHS:
        ty = f"i{8 * width}" if width < 16 else "<16 x i8>"
        for name, params, body in (
            (f"gather{width}", "ptr noalias %v0, ptr noalias %m", _GATHER),
            (f"scatter{width}", "ptr noalias %m, ptr noalias %v0", _SCATTER),
        ):
            parts.append(_void_loop(name, f"{params}, ptr noalias %o, i64 %n", body.format(ty=ty)))
            parts.append(_COPY_CALL.format(name=name, unpack=unpack))
    return "".join(parts)
