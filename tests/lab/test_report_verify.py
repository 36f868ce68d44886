# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`verify` end to end: right kernels, wrong ones, and files that try to cheat or break the tool."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencute.lab import report
from opencute.lab.strict_json import dumps

pytestmark = pytest.mark.t0

MakeFile = Callable[..., Path]


def check(path: Path, **options: Any) -> dict[str, Any]:
    options.setdefault("seeds", 1)
    options.setdefault("timeout", 30.0)
    found, status = report.verify(path, **options)
    assert json.loads(dumps(found))["correct"] == found["correct"]
    assert status == (0 if found["correct"] else 1)
    return found


def test_a_right_kernel(kernel_file: MakeFile) -> None:
    found = check(kernel_file(), seeds=2)
    assert found["correct"]
    assert found["max_abs_diff"] == 0.0
    assert found["max_rel_diff"] == 0.0
    assert found["seeds"] == [0, 1]
    assert found["launches"] == 0
    for said in ("|kernel - reference| <= atol + rtol * |reference|", "max(|reference|", "NaN"):
        assert said in found["details"]


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("def kernel_fn(x): return x", "elements are wrong"),
        ("def kernel_fn(x): return np.maximum(x, 0).astype(np.float32)", "dtype is float32"),
        ("def kernel_fn(x): return np.maximum(x, 0)[:1]", "shape is (1, 16)"),
        ("def kernel_fn(x): return np.maximum(x, 0)[None]", "shape is (1, 8, 16)"),
        ("def kernel_fn(x): return (np.maximum(x, 0),)", "the kernel gives tuple"),
        ("def kernel_fn(x): return np.maximum(x, 0) * np.nan", "NaN from the kernel"),
        ("def kernel_fn(x): return np.maximum(x, 0) + np.inf", "inf"),
        ("def kernel_fn(x): return None", "returns nothing and changes none"),
        ("def kernel_fn(x): pass", "returns nothing and changes none"),
        ("def kernel_fn(x): x[:] = 0; return np.maximum(x, 0)", "also changes input[0]"),
        ("def kernel_fn(x): return (v for v in x)", "generator"),
        ("def kernel_fn(x): return object()", "object"),
        ("def kernel_fn(x): return 1 / 0", "ZeroDivisionError"),
        ("def kernel_fn(x, y): return x", "TypeError"),
        ("def kernel_fn(x): exit(0)", "called exit(0)"),
        ("def kernel_fn(x): raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import os\ndef kernel_fn(x): os._exit(0)", "ended without a result (exit status 0)"),
        ("import ctypes\ndef kernel_fn(x): ctypes.string_at(0)", "SIGSEGV"),
        ("import os\ndef kernel_fn(x): os.abort()", "SIGABRT"),
        ("import os\ndef kernel_fn(x): os.closerange(3, 1024)\n", "ended without a result"),
        ("class E(Exception):\n def __str__(self): raise ValueError\n"
         "def kernel_fn(x): raise E", "cannot be shown"),
    ],
)  # fmt: skip
def test_wrong_kernels(kernel_file: MakeFile, kernel: str, said: str) -> None:
    found = check(kernel_file(kernel=kernel))
    assert not found["correct"]
    assert said in found["details"]


def test_an_error_shows_the_users_line_and_the_stage(kernel_file: MakeFile) -> None:
    found = check(kernel_file(kernel="def helper(x):\n    return x.nope\n\nkernel_fn = helper"))
    assert "kernel.py:3 in helper: return x.nope" in found["details"]
    assert "kernel_fn ran (seed 0)" in found["details"]
    assert "opencute/lab" not in found["details"]


@pytest.mark.parametrize("missing", ["kernel", "reference", "inputs"])
def test_missing_exports(kernel_file: MakeFile, missing: str) -> None:
    found = check(kernel_file(**{missing: ""}))
    assert "does not define" in found["details"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def (", "SyntaxError"),
        ("import surely_not_there", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "called exit(3)"),
        ("kernel_fn = 3", "does not define kernel_fn"),
    ],
)
def test_files_that_cannot_be_imported(kernel_file: MakeFile, text: str, said: str) -> None:
    assert said in check(kernel_file(text))["details"]


def test_reference_and_inputs_may_fail_too(kernel_file: MakeFile) -> None:
    found = check(kernel_file(reference="def reference_fn(x): raise ValueError('r')"))
    assert "ValueError while reference_fn ran" in found["details"]
    found = check(kernel_file(inputs="def get_inputs(): raise ValueError('i')"))
    assert "ValueError while get_inputs() ran" in found["details"]


def test_an_endless_loop_is_stopped(kernel_file: MakeFile) -> None:
    start = time.monotonic()
    found = check(kernel_file(kernel="def kernel_fn(x):\n while True: pass"), timeout=5.0)
    assert time.monotonic() - start < 20
    assert "timed out after 5 s while kernel_fn ran (seed 0)" in found["details"]


def test_signals_and_endless_output_do_not_help(kernel_file: MakeFile) -> None:
    kernel = """
        import signal
        def kernel_fn(x):
            for s in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
                signal.signal(s, signal.SIG_IGN)
            while True:
                print('{"correct": true}' * 1000)
    """
    found = check(kernel_file(kernel=kernel), timeout=2.0)
    assert "timed out" in found["details"]
    assert len(found["child_output"]) <= 4000


def test_grandchildren_are_killed(kernel_file: MakeFile, tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    kernel = f"""
        import subprocess, sys
        def kernel_fn(x):
            subprocess.Popen([sys.executable, "-c",
                "import time\\nwhile True: open({str(beat)!r}, 'a').write('x'); time.sleep(0.05)"])
            while not __import__("os").path.exists({str(beat)!r}): pass
            return np.maximum(x, 0)
    """
    assert check(kernel_file(kernel=kernel))["correct"]
    size = beat.stat().st_size
    time.sleep(0.3)
    assert beat.stat().st_size == size


FAKE = '{"correct": true, "max_abs_diff": 0.0, "max_rel_diff": 0.0, "details": ""}'


@pytest.mark.parametrize(
    "cheat",
    [
        f"print({FAKE!r}, flush=True)",
        f"import os; [os.write(f, {FAKE.encode()!r}) for f in (1, 2)]",
        f"import atexit; atexit.register(print, {FAKE!r})",
        f"import os; print({FAKE!r}, flush=True); os._exit(0)",
        f"import sys; print({FAKE!r}, flush=True); sys.exit(0)",
        "import numpy; numpy.allclose = numpy.array_equal = lambda *a, **k: True",
        "import numpy; numpy.abs = lambda x: x * 0",
        "import json; json.dumps = lambda *a, **k: '{\"correct\": true}'",
        "import sys; sys.modules['opencute.lab.compare'].compare = None",
        "globals()['reference_fn'] = kernel_fn",
        """
        import os
        def write(fd):
            try: os.write(fd, b'{"correct": true}')
            except OSError: pass
        [write(fd) for fd in range(3, 300)]
        """,
    ],
)
def test_cheats_do_not_pass(kernel_file: MakeFile, cheat: str) -> None:
    body = "\n".join("    " + line for line in cheat.strip().splitlines() if line)
    body = body.replace("            ", "    ")
    found = check(kernel_file(kernel=f"def kernel_fn(x):\n{body}\n    return x"))
    assert not found["correct"]
    reasons = ("elements are wrong", "ended without a result", "called exit")
    assert any(r in found["details"] for r in reasons)


def test_the_files_output_is_reported(kernel_file: MakeFile) -> None:
    kernel = """
        import os, sys
        def kernel_fn(x):
            print("to stdout"); print("to stderr", file=sys.stderr); os.write(1, b"to fd 1\\n")
            return np.maximum(x, 0)
    """
    found = check(kernel_file(kernel=kernel))
    assert found["correct"]
    for text in ("to stdout", "to stderr", "to fd 1"):
        assert text in found["child_output"]
        assert text in found["details"]


def test_a_fork_that_returns_reports_nothing(kernel_file: MakeFile) -> None:
    kernel = """
        import os
        def kernel_fn(x):
            if os.fork() == 0:
                return np.maximum(x, 0)
            return x
    """
    assert not check(kernel_file(kernel=kernel))["correct"]


def test_replacing_functions_of_the_reference_is_undone(kernel_file: MakeFile) -> None:
    kernel = """
        import time
        def kernel_fn(x):
            np.where = lambda *a: x
            time.time = lambda: 0
            return x
    """
    found = check(kernel_file(kernel=kernel))
    assert not found["correct"]
    assert "the file replaces" in found["details"]
    assert "numpy.where" in found["details"]


def test_a_buffer_that_the_reference_would_overwrite(kernel_file: MakeFile) -> None:
    extra = """
        shared = np.zeros((8, 16))
        def kernel_fn(x): return shared
        def reference_fn(x):
            shared[:] = np.maximum(x, 0)
            return shared
    """
    assert not check(kernel_file(extra))["correct"]


def test_kernels_do_not_see_each_others_inputs(kernel_file: MakeFile) -> None:
    kernel = "def kernel_fn(x):\n    x *= 0\n    x += 1"
    found = check(kernel_file(kernel=kernel))
    assert not found["correct"]
    assert check(kernel_file(kernel="def kernel_fn(x): np.maximum(x, 0, out=x)"), seeds=2)[
        "correct"
    ]


@pytest.mark.parametrize(
    ("inputs", "kernel", "reference"),
    [
        ("def get_inputs(): return np.ones(3)", "def kernel_fn(x): return x * 2", "x * 2"),
        ("def get_inputs(): return (np.ones(3),)", "def kernel_fn(x): return x * 2", "x * 2"),
        ("def get_inputs(): yield np.ones(3)", "def kernel_fn(x): return x * 2", "x * 2"),
        ("def get_inputs(): return {'x': np.ones(3)}", "def kernel_fn(x): return -x", "-x"),
        ("def get_inputs(): return [[np.ones(3), 2, None]]",
         "def kernel_fn(x): return {'r': x[0] * x[1]}", "{'r': x[0] + x[0]}"),
    ],
)  # fmt: skip
def test_forms_of_inputs(kernel_file: MakeFile, inputs: str, kernel: str, reference: str) -> None:
    path = kernel_file(
        inputs=inputs, kernel=kernel, reference=f"def reference_fn(x): return {reference}"
    )
    assert check(path)["correct"]


def test_later_seeds_count(kernel_file: MakeFile) -> None:
    kernel = "calls = []\ndef kernel_fn(x):\n    calls.append(1)\n"
    kernel += "    return np.maximum(x, 0) + (len(calls) > 2)"
    found = check(kernel_file(kernel=kernel), seeds=3)
    assert not found["correct"]
    assert found["seeds"] == [0, 1]
    assert "seed 1:" in found["details"]


def test_notes(kernel_file: MakeFile) -> None:
    kernel = "def kernel_fn(x): return np.maximum(x, 0) + __import__('os').getpid() * 0 + noise()"
    extra = "import itertools\ncount = itertools.count()\ndef noise(): return next(count) * 1e-9"
    found = check(kernel_file(extra, kernel=kernel))
    assert found["correct"]
    assert "not deterministic" in found["details"]
    found = check(kernel_file(kernel="def kernel_fn(x): return x", reference="reference_fn = abs",
                              inputs="def get_inputs(): return [np.ones(3)]"))  # fmt: skip
    assert found["correct"]
    assert "shares memory with an input" in found["details"]


def test_random_kernels_get_the_same_seed(kernel_file: MakeFile) -> None:
    text = "def {}(x): return x * (np.random.rand(8, 1) > 0.5)"
    path = kernel_file(kernel=text.format("kernel_fn"), reference=text.format("reference_fn"))
    found = check(path, seeds=2)
    assert found["correct"]
    assert "not deterministic" not in found["details"]


def test_nan_policy(kernel_file: MakeFile) -> None:
    path = kernel_file(inputs="def get_inputs(): return [np.array([np.nan, 1.0])]",
                       reference="def reference_fn(x): return np.maximum(x, 0)")  # fmt: skip
    found = check(path)
    assert not found["correct"]
    assert found["max_abs_diff"] is None
    assert found["max_abs_diff_text"] == "NaN"
    assert check(path, equal_nan=True)["correct"]


def test_sibling_modules_and_main_guard(kernel_file: MakeFile, tmp_path: Path) -> None:
    (tmp_path / "sibling.py").write_text("def double(x): return x * 2", encoding="utf-8")
    (tmp_path / "copy.py").write_text("raise RuntimeError('shadowed')", encoding="utf-8")
    path = kernel_file(
        "if __name__ == '__main__': raise RuntimeError",
        imports="import numpy as np\nfrom sibling import double",
        kernel="def kernel_fn(x): return double(x)",
        reference="def reference_fn(x): return x + x",
    )
    assert check(path)["correct"]


def test_launches_are_counted(kernel_file: MakeFile) -> None:
    kernel = """
        from opencute.base.counters import COUNTERS
        def kernel_fn(x):
            COUNTERS.launches += 1
            return np.maximum(x, 0)
    """
    found = check(kernel_file(kernel=kernel), seeds=2)
    assert found["launches"] == 3
    assert "no OpenCuTe kernel" not in found["details"]
    assert any("races and missing barriers were not looked for" in n for n in found["notes"])


@pytest.mark.parametrize("launches", [True, False])
def test_wrong_numbers_of_a_kernel_lead_to_the_checks(
    kernel_file: MakeFile, launches: bool
) -> None:
    """Where a kernel of ours was launched: no other is checked."""
    kernel = f"""
        from opencute.base.counters import COUNTERS
        def kernel_fn(x):
            COUNTERS.launches += {int(launches)}
            return np.maximum(x, 0.5)
    """
    path = kernel_file(kernel=kernel)
    found = check(path, seeds=1)
    said = f"note: to find out why, run `opencute check {path}`"
    assert not found["correct"]
    assert (said in found["details"]) == launches
    assert any("opencute check" in n for n in found["notes"]) == launches


def test_a_kernel_that_does_not_end_leads_to_the_checks(kernel_file: MakeFile) -> None:
    endless = check(kernel_file(kernel="def kernel_fn(x):\n while True: pass"), timeout=1.0)
    assert "opencute check" in endless["notes"][0] and "deadlocks" in endless["details"]
    assert "opencute check" not in check(kernel_file(), seeds=1)["details"]
    missing = check(kernel_file(kernel=""), seeds=1)
    assert not missing["correct"] and "opencute check" not in missing["details"]


GAP = """
import cutlass
import cutlass.cute as cute

@cute.kernel
def twice(x: cute.Tensor, o: cute.Tensor):
    i = cute.arch.block_idx()[0] * 32 + cute.arch.thread_idx()[0]
    o[i] = x[i] * 2.0

@cute.jit
def run(x: cute.Tensor, o: cute.Tensor):
    twice(x, o).launch(grid=cute.size(x) // 32, block=32)
"""


@pytest.mark.parametrize("zeros", [True, False])
def test_elements_that_no_kernel_wrote_are_counted(kernel_file: MakeFile, zeros: bool) -> None:
    """Also where the numbers happen to be right; and neither of an input nor of whole results."""
    parts = {
        "imports": "import numpy as np" + GAP,
        "kernel": "def kernel_fn(x):\n    o = np.zeros_like(x)\n    run(x, o)\n    return o",
        "reference": "def reference_fn(x): return x * 2",
        "inputs": "def get_inputs():\n    x = np.ones(100, np.float32)\n"
        f"    x[96:] = {0 if zeros else 1}\n    return [x]",
    }
    found = check(kernel_file(**parts), timeout=120.0)
    assert found["correct"] == zeros
    said = "4 of 100 elements of output were written by no kernel"
    assert [n for n in found["notes"] if said in n] and "the first is [96]" in found["details"]
    inplace = {**parts, "kernel": "def kernel_fn(x): run(x, x)"}
    inplace["reference"] = "def reference_fn(x): x[:96] *= 2"
    found = check(kernel_file(**inplace), timeout=120.0)
    assert found["correct"] and "by no kernel" not in found["details"]
    whole = {**parts, "inputs": "def get_inputs(): return [np.ones(96, np.float32)]"}
    found = check(kernel_file(**whole), timeout=120.0)
    assert found["correct"] and "by no kernel" not in found["details"]


def test_memory_that_held_nothing_is_a_result_wherever_it_comes_from(kernel_file: MakeFile) -> None:
    pytest.importorskip("torch")
    found = check(
        kernel_file(
            imports="import torch" + GAP,
            kernel="def kernel_fn(x, o): run(x, o)",
            reference="def reference_fn(x, o): o.copy_(x * 2)",
            inputs='def get_inputs(): return [torch.ones(100, device="cuda"), '
            'torch.empty(100, device="cuda")]',
        ),
        timeout=120.0,
    )
    said = "4 of 100 elements of input[1] were written by no kernel, and hold nothing"
    assert [n for n in found["notes"] if said in n]
