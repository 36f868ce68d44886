# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The part of an exported object file that loaders read.

In: facts about a compiled function, its IR and its machine code. Out: bytes that lie in the
object's constants, and stay in one piece in a shared library or a program, so that they are found
by looking for their first bytes; nothing has to be run or linked to read them::

    data = Package({"name": "relu", ...}, ir, host, cubin).to_bytes()
    [p.header["name"] for p in find_packages(Path("librelu.so").read_bytes())]     # ["relu"]

The layout: 16 bytes that name the format, the length of the rest (8 bytes, little-endian), a digest
of the rest (32 bytes), then the cubin's place and the compressed texts.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import ArgumentError

__all__ = ["FORMAT", "Package", "find_packages"]

FORMAT = 1
_MAGIC = b"OpenCuTe" + b"\0AOT\0\x9c\x01\n"
_HEAD = len(_MAGIC) + 8 + 32
_ALIGN = 64  # of the cubin in the file and in memory


@dataclass(frozen=True)
class Package:
    """One exported function.

    Args:
        header: facts that JSON can hold: name, target, parameters, launches.
        ir: the traced module, for the simulator.
        host: LLVM IR of the host function.
        cubin: machine code of the kernels; empty if it launches none.
    """

    header: dict[str, Any]
    ir: str
    host: str
    cubin: bytes

    def to_bytes(self) -> bytes:
        """The package as it lies in a file."""
        texts = json.dumps({"header": self.header, "ir": self.ir, "host": self.host})
        packed = zlib.compress(texts.encode(), 6)
        start = self.cubin_offset
        body = struct.pack("<QQQ", start, len(self.cubin), len(packed))
        body += bytes(start - _HEAD - len(body)) + self.cubin + packed
        return _MAGIC + struct.pack("<Q", len(body)) + hashlib.sha256(body).digest() + body

    @property
    def cubin_offset(self) -> int:
        """Where in the bytes the cubin begins."""
        return -(-(_HEAD + 24) // _ALIGN) * _ALIGN


def find_packages(data: bytes, name: str = "the file") -> Iterator[Package]:
    """The packages in a file's bytes.

    Args:
        data: an object file, a shared library or a program.
        name: for messages.

    Raises:
        ArgumentError: OC2148, a package is damaged or was made for another format.
    """
    at = data.find(_MAGIC)
    while at >= 0:
        package, length = _read(memoryview(data)[at:], name)
        yield package
        at = data.find(_MAGIC, at + length)


def _read(data: memoryview, name: str) -> tuple[Package, int]:
    (length,) = struct.unpack_from("<Q", data, len(_MAGIC)) if len(data) >= _HEAD else (0,)
    body = bytes(data[_HEAD : _HEAD + length])
    digest = bytes(data[len(_MAGIC) + 8 : _HEAD])
    if len(body) < 24 or len(body) != length or hashlib.sha256(body).digest() != digest:
        raise ArgumentError(f"{name} is damaged", code="OC2148", hint="export it again")
    start, size, packed = struct.unpack_from("<QQQ", body)
    cubin = body[start - _HEAD : start - _HEAD + size]
    texts = json.loads(zlib.decompress(body[start - _HEAD + size :][:packed]))
    header: dict[str, Any] = texts["header"]
    if header.get("format") != FORMAT:
        raise ArgumentError(
            f"{name} was exported by another version of OpenCuTe", code="OC2148",
            expected=f"format {FORMAT}", found=f"format {header.get('format')}",
            hint="export it again with this version",
        )  # fmt: skip
    return Package(header, texts["ir"], texts["host"], cubin), _HEAD + length
