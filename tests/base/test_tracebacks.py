# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Errors show the user's frames and the message: in scripts, in pytest, in IPython."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutlass.cute as cute
import opencute
from cutlass.cute.runtime import from_dlpack
from opencute.base.errors import ArgumentError, OpenCuTeError, OutOfBoundsError
from opencute.base.knobs import KNOBS
from opencute.base.tracebacks import users_only
from opencute.kernels.softmax import softmax

pytestmark = pytest.mark.t0

PACKAGE = str(Path(opencute.__file__).parent)


@cute.kernel
def far(x: cute.Tensor):
    x[cute.arch.thread_idx()[0]] = 1.0


@cute.jit
def host(x: cute.Tensor):
    far(x).launch(grid=1, block=64)


def outside() -> None:
    with KNOBS.override(target="sim"):
        host(from_dlpack(np.zeros(40, np.float32)))


def compiled_first() -> None:
    x = from_dlpack(np.zeros(40, np.float32))
    with KNOBS.override(target="sim"):
        cute.compile(host, x)(x)


def wrong_operator() -> None:
    softmax(np.zeros((4, 5), np.int32))


def caught(run: Any) -> pytest.ExceptionInfo[OpenCuTeError]:
    with pytest.raises(OpenCuTeError) as raised:
        run()
    return raised


@pytest.mark.parametrize("run", [outside, compiled_first, wrong_operator])
def test_pytest_shows_no_frames_of_ours(run: Any) -> None:
    raised = caught(run)
    shown = raised.traceback.filter(raised)
    assert [entry.name for entry in shown][-1] == run.__name__
    assert not [entry for entry in shown if str(entry.path).startswith(PACKAGE)]


@pytest.mark.parametrize("run", [outside, compiled_first, wrong_operator])
def test_whoever_prints_it_sees_one_frame_for_each_call(run: Any) -> None:
    frames = traceback.extract_tb(caught(run).value.__traceback__)
    ours = [f for f in frames if f.filename.startswith(PACKAGE)]
    assert len(ours) <= 2  # of operators also the one that looks for kept configurations


def test_all_frames_on_request() -> None:
    with KNOBS.override(full_traceback=True):
        raised = caught(outside)
        assert len(raised.traceback.filter(raised)) > 8
        assert users_only(raised.value).__traceback__ is raised.tb


def test_ipython_shows_the_users_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    error: Any = caught(outside).value
    text = "\n".join(error._render_traceback_())
    assert PACKAGE not in text and "in outside" in text and "[OC3101]" in text

    class Style:
        def structured_traceback(self, kind: Any, error: Any, trace: Any, tb_offset: int) -> Any:
            return [f.f_code.co_name for f, _ in traceback.walk_tb(trace)][tb_offset:]

    shell = types.SimpleNamespace(InteractiveTB=Style())
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)  # type: ignore[arg-type]
    assert caught(outside).value._render_traceback_()[-1] == "outside"  # type: ignore[attr-defined]


def test_mistakes_of_ours_keep_their_frames() -> None:
    def broken() -> None:
        types.FunctionType(compile("1 / 0", f"{PACKAGE}/broken.py", "exec"), {})()

    with pytest.raises(ZeroDivisionError) as raised:
        broken()
    users_only(raised.value)
    assert raised.value.__traceback__ is not None
    names = [f.filename for f in traceback.extract_tb(raised.value.__traceback__)]
    assert names[-1] == f"{PACKAGE}/broken.py"


def test_causes_are_cut_too() -> None:
    def wrapped() -> None:
        try:
            outside()
        except OutOfBoundsError as e:
            raise ValueError("mine") from e

    with pytest.raises(ValueError, match="mine") as raised:
        wrapped()
    text = "".join(traceback.format_exception(users_only(raised.value)))
    assert "[OC3101]" in text and "direct cause" in text and PACKAGE not in text


SCRIPT = """
import sys

if "own" in sys.argv:
    sys.excepthook = lambda kind, error, trace: print("mine:", error.code, file=sys.stderr)

import numpy as np
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def far(x: cute.Tensor):
    x[cute.arch.thread_idx()[0]] = 1.0

@cute.jit
def host(x: cute.Tensor):
    far(x).launch(grid=1, block=64)

def main():
    host(from_dlpack(np.zeros(40, np.float32)))

main()
"""


def printed(path: Path, *words: str, **env: str) -> str:
    root = Path(PACKAGE).parent
    done = subprocess.run(
        [sys.executable, str(path), *words], capture_output=True, text=True, check=False,
        env={**os.environ, "OPENCUTE_TARGET": "sim", "PYTHONPATH": str(root), **env},
    )  # fmt: skip
    assert done.returncode == 1
    return done.stderr


def test_a_script_shows_the_users_frames(tmp_path: Path) -> None:
    path = tmp_path / "far.py"
    path.write_text(SCRIPT, encoding="utf-8")
    text = printed(path)
    assert PACKAGE not in text and text.startswith("Traceback (most recent call last):")
    assert "in main" in text and "OutOfBoundsError: [OC3101]" in text
    assert text.count('\n  File "') == 2  # the module, and main
    assert text.count('\n  File "') < printed(path, OPENCUTE_DIAG_FULL_TRACEBACK="1").count("File")
    assert printed(path, "own") == "mine: OC3101\n"


def test_a_thread_shows_the_users_frames(tmp_path: Path) -> None:
    path = tmp_path / "far.py"
    start = "import threading\n\nt = threading.Thread(target=main)\nt.start()\nt.join()\nexit(1)\n"
    path.write_text(SCRIPT.removesuffix("main()\n") + start, encoding="utf-8")
    text = printed(path)
    assert PACKAGE not in text and "Exception in thread" in text
    assert "in main" in text and "OutOfBoundsError: [OC3101]" in text
    assert PACKAGE in printed(path, OPENCUTE_DIAG_FULL_TRACEBACK="1")


def test_an_argument_error_of_a_prepared_call() -> None:
    x = from_dlpack(np.zeros(64, np.float32))
    with KNOBS.override(target="sim"):
        run = cute.compile(host, x)
        with pytest.raises(ArgumentError) as raised:
            run(x, x)
    shown = raised.traceback.filter(raised)
    assert len(shown) == 1
