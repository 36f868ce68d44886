# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Run a job on a user's file in a child process, with a time limit.

In: a job (a dict, see `child`). Out: an `Outcome`: the child's result, or why there is none, and
the end of what the file printed::

    run_job({"command": "verify", "file": "kernel.py", ...}, timeout=60.0)

The child leads its own process group, which is killed when the time is over or the result is here.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from opencute.integrations.environment import source_root
from opencute.lab.channel import Receiver

__all__ = ["Outcome", "run_job"]

TAIL_BYTES = 4000
_BOOT = "import sys; sys.path[0] = sys.argv[1]; from opencute.lab.child import main; main()"


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

    Args:
        result: the child's answer; None when it gave none.
        failure: why there is no answer, in one sentence.
        output: the end of what the file wrote to its standard output and error.
        elapsed: seconds from the start to the end.
    """

    result: dict[str, Any] | None
    failure: str | None
    output: str
    elapsed: float


def _start(job: dict[str, Any], secret: bytes) -> tuple[subprocess.Popen[bytes], int]:
    """The child, and the read end of its result pipe."""
    job_read, job_write = os.pipe()
    result_read, result_write = os.pipe()
    try:
        message = json.dumps({**job, "secret": secret.hex(), "result_fd": result_write})
        os.write(job_write, message.encode())  # far below a pipe's capacity
        os.close(job_write)
        child = subprocess.Popen(
            [sys.executable, "-c", _BOOT, str(source_root()), str(job_read)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(job_read, result_write),
            start_new_session=True,
        )
    finally:
        os.close(job_read)
        os.close(result_write)
    return child, result_read


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _end_of(child: subprocess.Popen[bytes], stage: str) -> str:
    code = child.returncode
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"the process was killed by {name} while {stage}"
    return f"the process ended without a result (exit status {code}) while {stage}"


class _Watch:
    """Collects the output and the messages of a child until it is done."""

    def __init__(self, child: subprocess.Popen[bytes], result_fd: int, secret: bytes) -> None:
        assert child.stdout is not None
        self.child = child
        self.receiver = Receiver(secret)
        self.tail = bytearray()
        self.output_fd = child.stdout.fileno()
        self.result_fd = result_fd
        self.open = {self.output_fd, self.result_fd}
        self.selector = selectors.DefaultSelector()
        for fd in self.open:
            os.set_blocking(fd, False)
            self.selector.register(fd, selectors.EVENT_READ)

    def pump(self, wait: float) -> bool:
        """Take what is there; False when nothing came within `wait` seconds."""
        ready = self.selector.select(wait)
        for key, _ in ready:
            try:
                data = os.read(key.fd, 1 << 16)
            except BlockingIOError:
                continue
            if not data:
                self.selector.unregister(key.fd)
                self.open.discard(key.fd)
            elif key.fd == self.result_fd:
                self.receiver.feed(data)
            else:
                self.tail += data
                del self.tail[: max(len(self.tail) - 4 * TAIL_BYTES, 0)]
        return bool(ready)

    def until(self, deadline: float) -> bool:
        """Wait for a result or the child's end; False when the deadline passes first."""
        while self.receiver.result is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if self.child.poll() is not None:
                while self.open and self.pump(0.0):
                    pass
                return True
            if self.open:
                self.pump(min(left, 0.1))
            else:
                time.sleep(0.02)
        return True

    def output(self) -> str:
        """The end of the child's output."""
        stop = time.monotonic() + 1.0  # a process that left the group may write for ever
        while self.output_fd in self.open and time.monotonic() < stop and self.pump(0.0):
            pass
        return bytes(self.tail[-TAIL_BYTES:]).decode(errors="replace").strip()


def run_job(job: dict[str, Any], timeout: float) -> Outcome:
    """Run `job` in a child process.

    Args:
        job: what `child.main` takes.
        timeout: seconds until the child's process group is killed.
    """
    start = time.monotonic()
    secret = secrets.token_bytes(32)
    child, result_fd = _start({**job, "timeout": timeout}, secret)
    watch = _Watch(child, result_fd, secret)
    failure: str | None = None
    try:
        in_time = watch.until(start + timeout)
        if in_time and watch.receiver.result is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=2.0)  # it ends by itself right after its result
    finally:
        _kill(child)
        output = watch.output()
        watch.selector.close()
        os.close(result_fd)
        if child.stdout is not None:
            child.stdout.close()
    result = watch.receiver.result
    if result is None:
        stage = watch.receiver.stage
        failure = (
            _end_of(child, stage) if in_time else f"timed out after {timeout:g} s while {stage}"
        )
    return Outcome(result, failure, output, time.monotonic() - start)
