# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The child process: runs one user's file and sends one result.

In: a job as JSON on the pipe whose number is the second argument: `command` (verify or benchmark),
`file`, its options, and the secret and pipe of the result. Out: one result message; then the
process ends at once, so that nothing the file registered can run any more.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opencute.integrations.environment import own_cutlass_first
from opencute.lab.channel import RESULT, Sender
from opencute.lab.strict_json import plain

__all__ = ["main"]

_exit: Callable[[int], None] = os._exit  # taken before the file can replace it
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """Have the kernel of a Linux system end this process when the tool that started it is gone."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (AttributeError, OSError):
        return


def _read_job(fd: int) -> dict[str, Any]:
    with os.fdopen(fd, "rb") as pipe:
        return json.loads(pipe.read())


def _run(job: dict[str, Any], sender: Sender) -> dict[str, Any]:
    # Imported here: the secret is out of the job before any of this loads a user's file.
    from opencute.lab import clocks
    from opencute.lab.check import run_check
    from opencute.lab.kernel_file import UserError
    from opencute.lab.rules import Tolerance
    from opencute.lab.session import Session
    from opencute.lab.timing import Plan, run_benchmark

    clocks.watch_torch()
    try:
        session = Session.open(Path(job["file"]), sender)
        if job["command"] == "verify":
            tolerance = Tolerance(job["rtol"], job["atol"], job["equal_nan"])
            return run_check(session, tolerance, job["seeds"])
        return run_benchmark(session, Plan(**job["plan"]), job["timeout"])
    except UserError as error:
        return {"problems": [str(error)]}


def main() -> None:
    """Entry of the child: `argv` is `[-c, source root, job pipe]`."""
    _die_with_parent()
    faulthandler.enable()
    job = _read_job(int(sys.argv[2]))
    sender = Sender(job.pop("result_fd"), bytes.fromhex(job.pop("secret")))
    sys.argv[:] = [job["file"]]
    root = sys.path.pop(0)
    if root not in sys.path:
        sys.path.append(root)
    own_cutlass_first()
    result = _run(job, sender)
    if sender.owned():
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the file may have put anything there
                stream.flush()
        sender.send(RESULT, plain(result))
    _exit(0)
