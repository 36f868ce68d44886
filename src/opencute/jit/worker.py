# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A process that compiles modules for another one, which needs no GPU.

In: messages on standard input, each a JSON header and blobs (`read`, `write`): a module as text,
its target and options. Out: messages on standard output: the machine code, or the error. Nothing is
pickled, and the user's program is not imported, so that any function can be compiled in a pool.
"""

from __future__ import annotations

import dataclasses
import json
import os
import struct
import sys
from collections.abc import Mapping
from typing import IO, Any

from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.compiler.cached import pack
from opencute.compiler.options import Options
from opencute.ir.parser import parse

__all__ = ["answer", "main", "read", "write"]

_SIZE = struct.Struct("<I")


def write(stream: IO[bytes], header: Mapping[str, Any], blobs: Mapping[str, bytes]) -> None:
    """Send a message."""
    sizes = [[name, len(blob)] for name, blob in blobs.items()]
    head = json.dumps({**header, "blobs": sizes}).encode()
    stream.write(_SIZE.pack(len(head)) + head + b"".join(blobs.values()))
    stream.flush()


def read(stream: IO[bytes]) -> tuple[dict[str, Any], dict[str, bytes]] | None:
    """The next message, None at the end.

    Raises:
        EOFError: the message is cut off.
    """
    start = stream.read(_SIZE.size)
    if not start:
        return None
    header: dict[str, Any] = json.loads(_exactly(stream, _SIZE.unpack(start)[0]))
    return header, {name: _exactly(stream, size) for name, size in header["blobs"]}


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError("the other process has ended")
    return data


def _compile(header: dict[str, Any], blobs: dict[str, bytes]) -> dict[str, bytes]:
    module = parse(blobs["module"].decode(), header["name"])
    options = Options(**header["options"])
    return pack(Artefacts(header["name"], module, header["arch"], options).device)


def answer(
    header: dict[str, Any], blobs: dict[str, bytes]
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The answer to a message: the machine code, or what the compiler says."""
    # The parent keeps the cache, and warns of what it is given.
    with KNOBS.override(cache_enabled=False, advisories=False):
        try:
            return {"ok": True}, _compile(header, blobs)
        except Exception as e:
            return describe(e), {}


def main() -> None:
    """Serve until standard input ends."""
    source = sys.stdin.buffer
    # Whatever prints in here must not come between messages.
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while (message := read(source)) is not None:
        write(target, *answer(*message))


def describe(error: Exception) -> dict[str, Any]:
    """An error in JSON."""
    if not isinstance(error, OpenCuTeError):
        return {"ok": False, "kind": type(error).__name__, "message": str(error)}
    texts = {k: None if (v := getattr(error, k)) is None else str(v)
             for k in ("message", "code", "expected", "found", "hint")}  # fmt: skip
    loc = dataclasses.asdict(error.loc) if dataclasses.is_dataclass(error.loc) else None
    return {"ok": False, "kind": type(error).__name__, "loc": loc, **texts}
