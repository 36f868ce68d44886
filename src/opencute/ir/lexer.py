# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Text of the IR to tokens, and errors that point into that text.

>>> [t.text for t in tokenize(Source("%a = 4 : i32 // four"))]
['%a', '=', '4', ':', 'i32', '']
"""

from __future__ import annotations

import linecache
import re
from typing import NamedTuple

from opencute.base.errors import CompileError
from opencute.base.location import Location

__all__ = ["Source", "Token", "tokenize", "unquote"]

_TOKEN = re.compile(
    r"""(?:[ \t\r\n]|//[^\n]*(?:\n|\Z))*
    (?: (?P<punct>::|[(){}\[\]<>:,=])
      | (?P<value>%(?:[0-9]+|[A-Za-z_$.-][A-Za-z0-9_$.-]*)(?:\#[0-9]+)?)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<ident>[A-Za-z_][A-Za-z0-9_$.]*)
      | (?P<arrow>->)
      | (?P<hex>0x[0-9A-Fa-f]+)
      | (?P<float>-?[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?)
      | (?P<int>-?[0-9]+)
      | (?P<symbol>@(?:[A-Za-z_][A-Za-z0-9_$.]*|"(?:[^"\\\n]|\\.)*"))
      | (?P<attr>\#[A-Za-z_][A-Za-z0-9_$.]*)
      | (?P<type>![A-Za-z_][A-Za-z0-9_$.]*)
      | (?P<block>\^[A-Za-z0-9_$.-]+)
      | (?P<other>[?*+/-])
      | (?P<end>\Z)
      | (?P<bad>.))""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)
_PLAIN = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}


class Token(NamedTuple):
    """A piece of the text."""

    kind: str
    text: str
    pos: int


class Source:
    """Text that is being parsed.

    Args:
        text: all of it.
        file: the name that errors show.
    """

    def __init__(self, text: str, file: str = "<ir>") -> None:
        self.text = text
        self.file = file

    def location(self, pos: int, length: int = 1) -> Location:
        """The line and column of a character."""
        line = self.text.count("\n", 0, pos) + 1
        col = pos - (self.text.rfind("\n", 0, pos) + 1)
        return Location(self.file, line, col, col + max(length, 1))

    def error(self, message: str, code: str, pos: int, length: int = 1) -> CompileError:
        """An error at a character; the text is kept so that its line can be shown."""
        loc = self.location(pos, length)
        if self.file.startswith("<"):
            lines = self.text.splitlines(keepends=True)
            linecache.cache[self.file] = (len(self.text), None, lines, self.file)
        where = f"line {loc.line}, column {loc.col + 1}"
        return CompileError(f"{where}: {message}", code=code, loc=loc)


def tokenize(source: Source) -> list[Token]:
    """All tokens, then one of kind ``end``; raises CompileError (OC1040)."""
    out: list[Token] = []
    append, make = out.append, Token
    # Every character is part of a match, since `bad` takes what nothing else does.
    for m in _TOKEN.finditer(source.text):
        kind, group = m.lastgroup or "", m.lastindex or 0
        append(make(kind, m[group], m.start(group)))
        if kind == "bad":
            raise source.error(f"unexpected character {m[group]!r}", "OC1040", m.start(group))
    return out


def unquote(literal: str) -> str:
    """The text of a string literal; raises ValueError on a bad escape or bytes that are no text.

    >>> unquote(r'"a\\22\\n"')
    'a"\\n'
    """

    def plain(m: re.Match[bytes]) -> bytes:
        body = m.group(1)
        if body in _PLAIN:
            return _PLAIN[body]
        if len(body) != 2:
            raise ValueError(f"unknown escape \\{body.decode('utf-8', 'replace')}")
        return bytes([int(body, 16)])

    data = literal[1:-1].encode("utf-8", "surrogatepass")
    if b"\\" in data:
        data = _ESCAPE.sub(plain, data)
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as e:
        raise ValueError(f"bytes that are not UTF-8 text: {e.reason}") from None
