# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Host functions from LLVM IR, and from object code that was kept."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from opencute.base.errors import ToolchainError
from opencute.base.native_function import native_function
from opencute.native import jit
from opencute.native.jit import compile_host, load_object

pytestmark = pytest.mark.t1

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)

CALLS = """
declare i32 @ext(i32)
define i32 @f(i32 %x) {
  %y = add i32 %x, 1
  %r = call i32 @ext(i32 %y)
  ret i32 %r
}
"""


def call(module, name="f", x=0):
    return CALLBACK(module.address(name))(x)


def callback(factor):
    function = CALLBACK(lambda x: x * factor)
    return function, ctypes.cast(function, ctypes.c_void_p).value


@pytest.mark.parametrize("passes", ["none", "small", "O3"])
@pytest.mark.parametrize("opt", [0, 2, 3])
def test_functions_call_the_symbols_they_were_given(passes, opt):
    keep, address = callback(10)
    with compile_host(CALLS, {"ext": address}, passes=passes, opt=opt) as module:
        assert call(module, x=4) == 50
    del keep


def test_two_modules_may_bind_one_name_differently():
    (k2, two), (k3, three) = callback(2), callback(3)
    a, b = compile_host(CALLS, {"ext": two}), compile_host(CALLS, {"ext": three})
    assert (call(a, x=1), call(b, x=1)) == (4, 6)
    del k2, k3


def test_globals_are_exported_and_imported_at_any_distance():
    far = ctypes.c_int32(42)
    ir = """
    @far = external global i32
    @near = global i32 7
    @hidden = private constant i32 1
    define i32 @f(i32 %x) {
      %a = load i32, ptr @far
      %b = load i32, ptr @near
      %c = load i32, ptr @hidden
      %s = add i32 %a, %b
      %r = add i32 %s, %c
      ret i32 %r
    }
    define internal void @inner() {
      ret void
    }"""
    module = compile_host(ir, {"far": ctypes.addressof(far)})
    assert call(module) == 50
    ctypes.c_int32.from_address(module.address("near")).value = 8
    assert call(module) == 51
    assert set(module.exports) == {"f", "near"}


def test_the_process_is_searched_last():
    body = "%r = call i32 @abs(i32 %x)\n  ret i32 %r"
    ir = f"declare i32 @abs(i32)\ndefine i32 @f(i32 %x) {{\n  {body}\n}}"
    assert call(compile_host(ir), x=-5) == 5


def test_object_code_comes_back_without_llvm_and_in_another_process(tmp_path):
    keep, address = callback(10)
    module = compile_host(CALLS, {"ext": address})
    again = load_object(module.object_code, {"ext": address})
    module.close()
    assert call(again, x=4) == 50
    assert load_object(again.object_code, {"ext": address}).exports == ("f",)
    plain = compile_host("define i32 @f(i32 %x) {\n %r = add i32 %x, 1\n ret i32 %r\n}")
    (tmp_path / "o").write_bytes(plain.object_code)
    code = (
        "import ctypes, sys; from opencute.native.jit import load_object;"
        "m = load_object(open(sys.argv[1], 'rb').read());"
        "print(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(m.address('f'))(41))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "o")],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "42\n"
    assert done.stderr == ""
    del keep


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b"",
        lambda b: b"nonsense" * 40,
        lambda b: b[:10],
        lambda b: b[:14] + b"!" + b[15:],
        lambda b: b[:-200],
        lambda b: (
            b.replace(b"znver", b"zzver") if b"znver" in b else b.replace(b"-linux", b"-hurdx")
        ),
    ],
)
def test_damaged_object_code_is_refused(damage):
    code = compile_host("define i32 @f(i32 %x) {\n ret i32 %x\n}").object_code
    with pytest.raises(ToolchainError) as caught:
        load_object(damage(code))
    assert caught.value.code in ("OC1514", "OC1517")


def test_object_code_for_another_machine_is_refused(monkeypatch):
    code = compile_host("define i32 @f(i32 %x) {\n ret i32 %x\n}").object_code
    monkeypatch.setattr(jit, "host_description", lambda: ("x86_64-linux", "other", ""))
    with pytest.raises(ToolchainError, match="another machine") as caught:
        load_object(code)
    assert caught.value.code == "OC1517"


def test_a_declaration_that_nothing_defines_is_named():
    with pytest.raises(ToolchainError, match="nothing defines ext") as caught:
        compile_host(CALLS)
    assert caught.value.code == "OC1514"


def test_unknown_names_and_closed_modules():
    module = compile_host("define i32 @f(i32 %x) {\n ret i32 %x\n}")
    with pytest.raises(ToolchainError, match="no symbol 'g'"):
        module.address("g")
    module.close()
    module.close()
    with pytest.raises(ToolchainError, match="closed") as caught:
        module.address("f")
    assert caught.value.code == "OC1516"


def test_rejected_ir_shows_the_line():
    with pytest.raises(ToolchainError, match="line 1"):
        compile_host("define i32 @f( {")


def test_memory_is_given_back():
    def resident() -> int:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * 4

    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    ir = "define i32 @f(i32 %x) {\n ret i32 %x\n}"
    for _ in range(50):
        compile_host(ir)
    gc.collect()
    before = resident()
    for _ in range(200):
        compile_host(ir).close()
    assert resident() - before < 8_000  # KiB; each kept module takes about 45


def test_threads_may_compile_at_once():
    def one(k):
        ir = f"define i32 @f(i32 %x) {{\n %r = add i32 %x, {k}\n ret i32 %r\n}}"
        return call(compile_host(ir), x=1)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(16))) == [k + 1 for k in range(16)]


def test_native_code_as_a_python_builtin():
    """Jitted code behind a METH_FASTCALL builtin: objects in, objects out, no conversion."""
    ir = """
    declare i64 @PyLong_AsLongLong(ptr)
    declare ptr @PyLong_FromLongLong(i64)
    define ptr @sum(ptr %self, ptr %args, i64 %count) {
      %second = getelementptr ptr, ptr %args, i64 1
      %a = load ptr, ptr %args
      %b = load ptr, ptr %second
      %x = call i64 @PyLong_AsLongLong(ptr %a)
      %y = call i64 @PyLong_AsLongLong(ptr %b)
      %s = add i64 %x, %y
      %r = call ptr @PyLong_FromLongLong(i64 %s)
      ret ptr %r
    }"""
    symbols = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        for name in ("PyLong_AsLongLong", "PyLong_FromLongLong")
    }
    module = compile_host(ir, symbols)
    add = native_function(module.address("sum"), "sum", keep=module)
    del module
    gc.collect()
    assert add(20, 22) == 42
