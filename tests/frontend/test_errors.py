# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Errors: a stable code, the user's line, a hint, and no frames of ours in the traceback."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute
from compiled import load_source
from opencute.base.errors import OpenCuTeError
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0

# In each source the line with the mark `# here` is the one that the error must point at.
CASES: dict[str, tuple[str, str]] = {
    "const_expr of a run-time value": ("OC1114", "if cutlass.const_expr(i > 0):  # here\n    pass"),
    "range_constexpr of a run-time bound": (
        "OC1113",
        "for k in cutlass.range_constexpr(i):  # here\n    pass",
    ),
    "assert on a run-time value": ("OC1101", "assert i > 0  # here"),
    "float() that Python calls": ("OC1101", "x = math.sqrt(cutlass.Float32(i))  # here"),
    "list index": ("OC1101", "x = [1, 2, 3][i]  # here"),
    "iterating a tensor": ("OC1110", "for x in t:  # here\n    pass"),
    "a tensor in a comprehension": ("OC1110", "y = [x for x in t]  # here"),
    "kernel from kernel": ("OC1134", "other(t)  # here"),
    "endless static while": ("OC1111", "while cutlass.const_expr(True):  # here\n    pass"),
    "handled error of a branch": (
        "OC1115",
        "try:\n    if i > 2:\n        {}['a']\nexcept KeyError:  # here\n    pass",
    ),
    "two names for one object": (
        "OC1124",
        "a, b = [1], [2]\nc = a\nif i > 2:  # here\n    c = b\nc[0] = i\nt[0] = b[0]",
    ),
    "a variable of one branch": ("OC1126", "if i > 2:\n    x = 1\nt[0] = x + 1  # here"),
    "a variable that is None": (
        "OC1126",
        "x = None\nif i > 2:\n    x = 1\nif x is None:  # here\n    pass",
    ),
    "dict keys": ("OC1117", "x = {}\nif i > 0:  # here\n    x['k'] = i"),
    "loop bounds with a static break": (
        "OC1112",
        "for k in range(i):  # here\n    if cutlass.const_expr(True):\n        break",
    ),
    "list grows": ("OC1117", "x = []\nif i > 0:  # here\n    x.append(i)"),
    "truth of a vector": ("OC1221", "v = cute.full((2,), 1.0)\nif v > 0:  # here\n    pass"),
    "kinds differ": ("OC1250", "x = 1\nif i > 0:  # here\n    x = 'a'\nt[0] = x + 1"),
    "float range": ("OC1253", "for k in range(1.5):  # here\n    pass"),
    "sizes of a copy": (
        "OC1363",
        "a = cute.make_rmem_tensor(4, cutlass.Float32)\n"
        "b = cute.make_rmem_tensor(8, cutlass.Float32)\ncute.autovec_copy(a, b)  # here",
    ),
    "types of a copy": (
        "OC1238",
        "a = cute.make_rmem_tensor(4, cutlass.Float32)\n"
        "b = cute.make_rmem_tensor(4, cutlass.Int32)\ncute.autovec_copy(a, b)  # here",
    ),
    "dynamic register tensor": ("OC1358", "x = cute.make_rmem_tensor(i, cutlass.Int32)  # here"),
    "load of a dynamic shape": ("OC1357", "x = t.load()  # here"),
    "store of another size": ("OC1356", "t[0] = cute.full((2,), 1)  # here"),
    "tensor as an element": ("OC1232", "t[0] = t  # here"),
    "partial slice": ("OC1354", "x = t[0:2]  # here"),
    "layout that does not divide": (
        "OC13",
        "a = cute.make_layout((3, 5), stride=(1, 9))\n"
        "x = cute.composition(a, cute.make_layout(4))  # here",
    ),
    "no such operator": ("OC1207", "x = cutlass.Float32(1) & 1  # here"),
    "printf places": ("OC1240", "cute.printf('{} {}', i)  # here"),
    "printf conversions": ("OC1240", "cute.printf('%d', i, i)  # here"),
    "not a number": ("OC1205", "x = cutlass.Int32('a')  # here"),
    "not a type": ("OC1203", "x = i.to('f32')  # here"),
}

KERNEL = """
import math

@cute.kernel
def other(t: cute.Tensor):
    t[0] = 1

@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
{body}

@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(block=4)
"""


def failing(source: str, folder: Path, *args: Any) -> tuple[OpenCuTeError, str]:
    module = load_source(source, folder)
    with pytest.raises(OpenCuTeError) as e:
        module.host(*args)
    return e.value, module.__file__ or ""


def line_of(source: str) -> int:
    return next(n for n, line in enumerate(source.splitlines(), 1) if line.endswith("# here"))


def tensor() -> Any:
    return from_dlpack(np.zeros(8, np.int32)).mark_layout_dynamic()


def check(error: OpenCuTeError, file: str, source: str, code: str) -> None:
    assert error.code.startswith(code), error
    assert error.loc is not None and (error.loc.file, error.loc.line) == (file, line_of(source)), (
        error
    )
    assert "# here" in str(error) and "^" in str(error)


@pytest.mark.parametrize("name", CASES)
def test_errors_in_kernels(name: str, tmp_path: Path) -> None:
    code, body = CASES[name]
    source = KERNEL.format(body="\n".join("    " + line for line in body.splitlines()))
    error, file = failing(source, tmp_path, tensor())
    check(error, file, source, code)


@pytest.mark.parametrize("name", [n for n in CASES if n not in (
    "kinds differ", "no such operator", "printf places", "printf conversions", "not a number",
    "sizes of a copy", "types of a copy", "layout that does not divide", "tensor as an element",
    "partial slice", "float range", "assert on a run-time value",
)])  # fmt: skip
def test_errors_that_need_a_change_say_which(name: str, tmp_path: Path) -> None:
    body = CASES[name][1]
    source = KERNEL.format(body="\n".join("    " + line for line in body.splitlines()))
    error, _ = failing(source, tmp_path, tensor())
    assert error.hint, error


WHOLE: dict[str, tuple[str, str]] = {
    "yield": ("OC1122", "@cute.jit\ndef host(t):\n    yield 1  # here\n"),
    "global": ("OC1122", "@cute.jit\ndef host(t):\n    global x  # here\n    x = 1\n"),
    "await": ("OC1122", "@cute.jit\ndef host(t):\n    async def f():  # here\n        pass\n"),
    "kernel without launch": (
        "OC1130",
        "@cute.kernel\ndef k(t):\n    t[0] = 1\n@cute.jit\ndef host(t):\n    k(t)  # here\n",
    ),
    "returning a tensor": ("OC1131", "@cute.jit\ndef host(t):  # here\n    return t\n"),
    "kernel returns": (
        "OC1132",
        "@cute.kernel\ndef k(t):\n    return t[0]\n"
        "@cute.jit\ndef host(t):\n    k(t).launch()  # here\n",
    ),
    "grid of floats": (
        "OC1254",
        "@cute.kernel\ndef k(t):\n    t[0] = 1\n"
        "@cute.jit\ndef host(t):\n    k(t).launch(grid=1.5)  # here\n",
    ),
    "block too large": (
        "OC2112",
        "@cute.kernel\ndef k(t):\n    t[0] = 1\n"
        "@cute.jit\ndef host(t):\n    k(t).launch(block=2048)  # here\n",
    ),
    "host value in a kernel": (
        "OC1118",
        "@cute.jit\ndef host(t):\n    n = cute.size(t) + 1\n    @cute.kernel\n    def k(t):\n"
        "        t[0] = n  # here\n    k(t).launch()\n",
    ),
    "attribute of a module": (
        "OC1142",
        "import types\n\nm = types.ModuleType('m')\n"
        "def put(n):\n    m.v = n + 1\n\n"
        "@cute.jit\ndef host(t):\n    n = cute.size(t)\n    if n > 1:  # here\n"
        "        put(n)\n    cute.printf('%d', m.v)\n",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_errors_in_functions(name: str, tmp_path: Path) -> None:
    code, source = WHOLE[name]
    error, file = failing(source, tmp_path, tensor())
    check(error, file, source, code)
    assert error.hint or code in ("OC1122", "OC1254", "OC2112")


def test_a_kernel_called_from_python(tmp_path: Path) -> None:
    module = load_source("@cute.kernel\ndef k(t):\n    t[0] = 1\n", tmp_path)
    with pytest.raises(OpenCuTeError, match="OC1133") as e:
        module.k(1)
    assert e.value.hint and "launch" in e.value.hint


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("cute.zipped_divid", "did you mean zipped_divide"),
        ("cute.thread_idx", "it is cute.arch.thread_idx"),
        ("cute.block_idx", "it is cute.arch.block_idx"),
        ("cute.make_reg_tensor", "it is cute.make_rmem_tensor"),
        ("cute.make_smem_tensor", "SmemAllocator"),
        ("cute.cp_async_wait", "cp_async_wait_group"),
        ("cutlass.Flaot32", "did you mean Float32"),
        ("cute.arch.thread_index", "did you mean"),
        ("cute.math.sigmod", "did you mean sigmoid"),
    ],
)
def test_unknown_names(expression: str, words: str, tmp_path: Path) -> None:
    source = f"@cute.jit\ndef host(t):\n    {expression}  # here\n"
    module = load_source(source, tmp_path)
    with pytest.raises(AttributeError, match=words):
        module.host(tensor())


def frames(error: BaseException) -> list[str]:
    ours = str(Path(opencute.__file__).parent)
    return [f.filename for f in traceback.extract_tb(error.__traceback__)
            if f.filename.startswith(ours)]  # fmt: skip


def test_tracebacks_show_the_users_frames(tmp_path: Path) -> None:
    source = KERNEL.format(body="    helper(t)") + (
        "def helper(t):\n    for k in range(3):\n        t[k] = 1 / 0\n"
    )
    module = load_source(source, tmp_path)
    with pytest.raises(ZeroDivisionError) as e:
        module.host(tensor())
    files = [
        f for f in traceback.extract_tb(e.value.__traceback__) if f.filename == module.__file__
    ]
    assert [f.name for f in files][-1] == "helper" and files[-1].line == "t[k] = 1 / 0"
    # Python itself adds the frame of the decorator's call while the error passes through it.
    assert len(frames(e.value)) <= 1


def test_all_frames_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCUTE_DIAG_FULL_TRACEBACK", "1")
    error, _ = failing(WHOLE["returning a tensor"][1], tmp_path, tensor())
    assert len(frames(error)) > 1


def test_an_error_in_an_inlined_helper_shows_the_way_there(tmp_path: Path) -> None:
    source = KERNEL.format(body="    inner(t, i)") + (
        "@cute.jit\ndef inner(t, i):\n    if i > 0:\n        t[0] = t[9, 9, 9]  # here\n"
    )
    module = load_source(source, tmp_path)
    with pytest.raises(Exception) as e:
        module.host(tensor())
    assert isinstance(e.value, OpenCuTeError)
    check(e.value, module.__file__ or "", source, "OC13")


def test_a_function_without_source() -> None:
    names: dict[str, Any] = {}
    exec("def f(t):\n    pass\n", names)
    with pytest.raises(OpenCuTeError, match="OC1120") as e:
        opencute.cute.jit(names["f"])(tensor())
    assert e.value.hint
    opencute.cute.jit(names["f"], preprocess=False)(tensor())


def test_only_functions_can_be_decorated() -> None:
    with pytest.raises(OpenCuTeError, match="OC1121"):
        opencute.cute.jit((3).__add__)
