# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR to PTX in a child process, for IR that holds assembly written by a user.

In and out: as `opencute.native.nvptx.to_ptx`. LLVM ends its process where it cannot go on; here
that is the child, and the caller gets a ToolchainError with what LLVM said. One child serves all
calls of a process; it is started when it is first needed, and again after it has died.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from typing import IO, Any

from opencute.base.errors import ToolchainError
from opencute.native.nvptx import PtxResult, to_ptx
from opencute.native.target import Passes

__all__ = ["serve", "to_ptx_isolated"]

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from opencute.native.isolated import serve; serve()"
)


class _Child:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        self.process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, json.dumps(sys.path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
        )  # fmt: skip

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The child's answer; None if it died."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        try:
            _send(stdin, request)
        except (BrokenPipeError, OSError):
            return None
        return _receive(stdout)

    def last_words(self) -> str:
        """What the child wrote before it died."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace").strip()

    def close(self) -> None:
        """End the child."""
        if self.pid == os.getpid():
            self.process.kill()
            self.process.communicate()
        self.errors.close()


_lock = threading.Lock()
_child: _Child | None = None


def _send(stream: IO[bytes], message: dict[str, Any]) -> None:
    data = json.dumps(message).encode()
    stream.write(len(data).to_bytes(8, "little") + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> dict[str, Any] | None:
    head = stream.read(8)
    if len(head) < 8:
        return None
    size = int.from_bytes(head, "little")
    data = stream.read(size)
    return json.loads(data) if len(data) == size else None


def _end() -> None:
    global _child
    if _child is not None:
        _child.close()
        _child = None


atexit.register(_end)


def to_ptx_isolated(ir_text: str, sm: str, ptx_version: int, passes: Passes = "small") -> PtxResult:
    """Compile LLVM IR text to PTX in another process.

    Args:
        ir_text, sm, ptx_version, passes: as for `to_ptx`.

    Raises:
        ToolchainError: what `to_ptx` raises; OC1565 if LLVM ended the process.
    """
    global _child
    request = {"ir": ir_text, "sm": sm, "ptx": ptx_version, "passes": passes}
    with _lock:
        if _child is not None and (_child.pid != os.getpid() or _child.process.poll() is not None):
            _end()
        if _child is None:
            _child = _Child()
        answer = _child.ask(request)
        if answer is None:
            words = _child.last_words()
            _end()
            raise ToolchainError(
                "LLVM gave up on the code of this kernel", code="OC1565",
                found=words.splitlines()[0] if words else "no message",
                hint="inline assembly is the likely cause: look at its constraints",
            )  # fmt: skip
    if "error" in answer:
        raise ToolchainError(**answer["error"])
    return PtxResult(answer["result"], answer["timings"])


def serve() -> None:
    """What the child does: answer requests on standard input until it ends."""
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what LLVM prints is no answer
    while (request := _receive(stdin)) is not None:
        try:
            made = to_ptx(request["ir"], request["sm"], request["ptx"], request["passes"])
            answer: dict[str, Any] = {"result": made.ptx, "timings": made.timings}
        except ToolchainError as e:
            facts = {"expected": e.expected, "found": e.found, "hint": e.hint}
            texts = {k: str(v) for k, v in facts.items() if v is not None}
            answer = {"error": {"message": e.message, "code": e.code, **texts}}
        _send(stdout, answer)
