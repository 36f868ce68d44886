# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The private line from the child process, which runs a user's file, to the tool that started it.

In: messages (dicts). Out: the same messages, or nothing. Nothing that the file prints, to any file
descriptor, can be mistaken for a message: each is framed with a secret of this run and
authenticated with it, and a forked copy of the child cannot send::

    magic (8 bytes of the secret) | kind | length | JSON | keyed hash of kind and JSON
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import struct
from collections.abc import Callable
from typing import Any

__all__ = ["PROGRESS", "RESULT", "Receiver", "Sender"]

PROGRESS = b"P"
RESULT = b"R"
_HEADER = struct.Struct("<cI")
_DIGEST = 16
_HIGH_FD = 200

# Taken now: the file that runs in this process may replace the modules' members later.
_write: Callable[[int, Any], int] = os.write
_getpid: Callable[[], int] = os.getpid
_dumps: Callable[..., str] = json.dumps
_blake2b: Callable[..., Any] = hashlib.blake2b


def _digest(secret: bytes, kind: bytes, body: bytes) -> bytes:
    return _blake2b(kind + body, key=secret, digest_size=_DIGEST).digest()


class Sender:
    """The child's end.

    Args:
        fd: the pipe's write end; moved out of the range that programs close or write to blindly.
        secret: 32 random bytes from the parent.
    """

    def __init__(self, fd: int, secret: bytes) -> None:
        self._fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD)
        os.close(fd)
        self._secret = secret
        self._pid = _getpid()

    def owned(self) -> bool:
        """Whether this is the process that the parent started, not a forked copy."""
        return _getpid() == self._pid

    def send(self, kind: bytes, message: dict[str, Any]) -> None:
        """Send one message; silently nothing from a forked copy."""
        if not self.owned():
            return
        body = _dumps(message).encode()
        header = self._secret[:8] + _HEADER.pack(kind, len(body))
        data = memoryview(header + body + _digest(self._secret, kind, body))
        while data:
            data = data[_write(self._fd, data) :]

    def progress(self, stage: str) -> None:
        """Say what is being done, for the report of a crash or a timeout."""
        self.send(PROGRESS, {"stage": stage})


class Receiver:
    """The parent's end: feed it bytes, read what arrived.

    Args:
        secret: the secret that the child was given.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._buffer = bytearray()
        self.stage = "starting"
        self.result: dict[str, Any] | None = None

    def feed(self, data: bytes) -> None:
        """Take more bytes; complete messages update `stage` and `result`."""
        self._buffer += data
        while self._take_one():
            pass

    def _take_one(self) -> bool:
        magic = self._secret[:8]
        start = self._buffer.find(magic)
        if start < 0:
            del self._buffer[: max(len(self._buffer) - len(magic) + 1, 0)]
            return False
        body_at = start + len(magic) + _HEADER.size
        if len(self._buffer) < body_at:
            return False
        kind, length = _HEADER.unpack(self._buffer[start + len(magic) : body_at])
        end = body_at + length + _DIGEST
        if len(self._buffer) < end:
            return False
        body = bytes(self._buffer[body_at : body_at + length])
        digest = bytes(self._buffer[body_at + length : end])
        if not hmac.compare_digest(digest, _digest(self._secret, kind, body)):
            del self._buffer[: start + 1]  # not ours: look for the next one
            return True
        del self._buffer[:end]
        message = json.loads(body)
        if kind == RESULT:
            self.result = message
        else:
            self.stage = message["stage"]
        return True
