# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Text to types, attributes and locations. `parser` builds operations on top of this.

Dialects register how their own types and attributes are read; the function is called after the
name (``!cute.ptr``) and reads the rest from the `Syntax` that it is given::

    def pointer(s: Syntax) -> Type:
        s.expect("<")
        element = s.type()
        ...
    register_type_parser("cute.ptr", pointer)

An attribute that nothing is registered for is kept as a `DialectAttr`, a type is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from opencute.base.errors import CompileError, OpenCuTeError
from opencute.base.location import Location
from opencute.ir.attributes import (
    UNIT,
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseAttr,
    DenseI32Attr,
    DialectAttr,
    DictAttr,
    FloatAttr,
    IntAttr,
    StringAttr,
    SymbolAttr,
    TypeAttr,
    float_from_bits,
    round_float,
)
from opencute.ir.lexer import Source, Token, tokenize, unquote
from opencute.ir.types import (
    F64,
    FLOATS,
    I1,
    I64,
    INDEX,
    FloatType,
    FunctionType,
    IndexType,
    IntegerType,
    NoneType,
    Type,
    VectorType,
)

__all__ = ["Syntax", "register_attr_parser", "register_type_parser"]

TypeParser = Callable[["Syntax"], Type]
AttrParser = Callable[["Syntax"], Attribute]
T = TypeVar("T")

_TYPES: dict[str, TypeParser] = {}
_ATTRS: dict[str, AttrParser] = {}
_MAX_DEPTH = 50
_MAX_DIGITS = 60
_MAX_WIDTH = 128


def register_type_parser(name: str, parse: TypeParser) -> None:
    """Read types called ``!name`` (with the dialect: ``cute.ptr``) by a function.

    `parse` raises ValueError or CompileError on bad text; either is placed at the type.
    """
    _TYPES[name] = parse


def register_attr_parser(name: str, parse: AttrParser) -> None:
    """Read attributes called ``#name`` by a function; see `register_type_parser`."""
    _ATTRS[name] = parse


class Syntax:
    """A position in a list of tokens, and what can be read there.

    Methods without an argument read one thing and move past it; each raises CompileError at the
    token where the text is wrong.
    """

    def __init__(self, text: str, file: str = "<ir>") -> None:
        self.source = Source(text, file)
        self.tokens = tokenize(self.source)
        self.at = 0
        self.depth = 0
        self.plain_types: dict[str, Type] = {"index": INDEX, "none": NoneType(), **FLOATS}

    # Tokens

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    def error(self, message: str, code: str = "OC1040", token: Token | None = None) -> CompileError:
        """An error at a token, by default the next one."""
        at = token or self.token
        return self.source.error(message, code, at.pos, len(at.text))

    def accept(self, text: str) -> bool:
        """Move past the next token if it is `text`."""
        if self.tokens[self.at].text == text:
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Move past `text`."""
        if not self.accept(text):
            raise self.error(f"expected {text!r}, found {self._found()}")

    def take(self, kind: str, what: str) -> Token:
        """Move past a token of a kind (see `lexer`)."""
        token = self.tokens[self.at]
        if token.kind != kind:
            raise self.error(f"expected {what}, found {self._found()}")
        self.at += 1
        return token

    def _found(self) -> str:
        return repr(self.token.text) if self.token.kind != "end" else "the end of the text"

    def ident(self) -> str:
        """A bare word."""
        return self.take("ident", "a word").text

    def integer(self) -> int:
        """A decimal integer."""
        token = self.take("int", "an integer")
        if len(token.text) > _MAX_DIGITS:
            raise self.error("the integer is too long", "OC1046", token)
        return int(token.text)

    def string(self) -> str:
        """A quoted string."""
        return self._unquote(self.take("string", "a string"))

    def _unquote(self, token: Token, skip: int = 0) -> str:
        try:
            return unquote(token.text[skip:])
        except ValueError as e:
            raise self.error(str(e), "OC1046", token) from None

    def list_of(self, item: Callable[[], T], end: str) -> list[T]:
        """Items with commas between, up to `end`, which is passed too."""
        out: list[T] = []
        if self.accept(end):
            return out
        while True:
            out.append(item())
            if self.accept(end):
                return out
            self.expect(",")

    @contextmanager
    def nested(self) -> Generator[None]:
        """Count how deep the text is nested, so that no text exhausts Python's stack."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.error(f"nested more than {_MAX_DEPTH} deep", "OC1045")
        try:
            yield
        finally:
            self.depth -= 1

    def skip_group(self) -> None:
        """Move past ``<...>``, with any balanced brackets inside."""
        closing = {"<": ">", "(": ")", "[": "]", "{": "}"}
        stack: list[str] = []
        while True:
            token = self.token
            if token.kind == "end":
                raise self.error(f"expected {stack[-1]!r}, found the end of the text")
            self.at += 1
            if token.kind != "punct":
                continue
            if token.text in closing:
                stack.append(closing[token.text])
            elif token.text in closing.values() and stack.pop() != token.text:
                raise self.error("brackets do not match", token=token)
            if not stack:
                return

    # Types

    def type(self) -> Type:
        """A type."""
        token = self.token
        if token.kind == "ident":
            known = self.plain_types.get(token.text)
            if known is None:
                return self._builtin_type(token)
            self.at += 1
            return known
        if token.kind == "type":
            self.at += 1
            parse = _TYPES.get(token.text[1:])
            if parse is None:
                raise self.error(f"unknown type {token.text}", "OC1041", token)
            return self._by_dialect(parse, token)
        raise self.error(f"expected a type, found {self._found()}")

    def _by_dialect(self, parse: Callable[[Syntax], T], token: Token) -> T:
        with self.nested():
            try:
                return parse(self)
            except OpenCuTeError as e:
                if e.loc is not None:
                    raise
                raise self.error(f"{token.text}: {e.message}", e.code, token) from None
            except ValueError as e:
                raise self.error(f"{token.text}: {e}", "OC1046", token) from None

    def _builtin_type(self, token: Token) -> Type:
        self.at += 1
        text = token.text
        if text[0] == "i" and text[1:].isdecimal() and text[1] != "0" and len(text) < 5:
            width = int(text[1:])
            if width <= _MAX_WIDTH:
                type = self.plain_types[text] = IntegerType(width)
                return type
        if text == "vector":
            return self._vector()
        raise self.error(f"unknown type {text}", "OC1041", token)

    def _vector(self) -> VectorType:
        self.expect("<")
        token = self.token
        length = self.integer()
        if length < 1 or length > 1 << 31:
            raise self.error("a vector has at least one element", "OC1041", token)
        # The lexer reads `8xf16` as 8 and xf16, and `4x!t` as 4, x and !t.
        x = self.take("ident", "'x' and an element type")
        if x.text[0] != "x":
            raise self.error("expected 'x' and an element type", token=x)
        if len(x.text) > 1:
            self.at -= 1
            self.tokens[self.at] = Token("ident", x.text[1:], x.pos + 1)
        at = self.token
        element = self.type()
        if isinstance(element, VectorType | NoneType):
            raise self.error(f"{element} is no element of a vector", "OC1041", at)
        self.expect(">")
        return VectorType(length, element)

    def types_in_parentheses(self) -> tuple[Type, ...]:
        """``(i32, f32)``."""
        self.expect("(")
        return tuple(self.list_of(self.type, ")"))

    def function_type(self) -> FunctionType:
        """``(i32, f32) -> i32`` or ``... -> (i32, i32)``."""
        ins = self.types_in_parentheses()
        self.expect("->")
        if self.token.text == "(":
            return FunctionType(ins, self.types_in_parentheses())
        return FunctionType(ins, (self.type(),))

    # Attributes

    def attribute(self) -> Attribute:
        """An attribute of any kind; a type stands for a TypeAttr."""
        token = self.token
        kind, text = token.kind, token.text
        if kind == "string":
            return StringAttr(self.string())
        if kind in ("int", "float", "hex"):
            return self._number()
        if kind == "symbol":
            return self._symbol()
        if kind == "attr":
            return self._dialect_attribute()
        if kind == "ident" and text in ("true", "false", "unit", "array", "dense"):
            self.at += 1
            return self._keyword(text)
        if text in ("[", "{"):
            with self.nested():
                self.at += 1
                if text == "[":
                    return ArrayAttr(tuple(self.list_of(self.attribute, "]")))
                return DictAttr(tuple(sorted(self._entries().items())))
        if text == "(":
            return TypeAttr(self.function_type())
        return TypeAttr(self.type())

    def dictionary(self) -> dict[str, Attribute]:
        """``{name = attribute, unit, ...}``."""
        self.expect("{")
        return self._entries()

    def _entries(self) -> dict[str, Attribute]:
        out: dict[str, Attribute] = {}

        def entry() -> None:
            token = self.token
            name = self.string() if token.kind == "string" else self.ident()
            if name in out:
                raise self.error(f"attribute {name!r} is given twice", "OC1043", token)
            out[name] = self.attribute() if self.accept("=") else UNIT

        self.list_of(entry, "}")
        return out

    def _keyword(self, text: str) -> Attribute:
        if text in ("true", "false"):
            return BoolAttr(text == "true")
        if text == "unit":
            return UNIT
        return self._array() if text == "array" else self._dense()

    def _symbol(self) -> SymbolAttr:
        path: list[str] = []
        while True:
            token = self.take("symbol", "a symbol")
            quoted = token.text[1] == '"'
            path.append(self._unquote(token, 1) if quoted else token.text[1:])
            if not self.accept("::"):
                return SymbolAttr(tuple(path))

    def _dialect_attribute(self) -> Attribute:
        token = self.take("attr", "an attribute")
        name = token.text[1:]
        parse = _ATTRS.get(name)
        if parse is not None:
            return self._by_dialect(parse, token)
        dialect, dot, body = name.partition(".")
        if not dot or not body:
            raise self.error(f"{token.text} names no dialect's attribute", token=token)
        start = self.token.pos
        if self.token.text == "<" and start == token.pos + len(token.text):
            self.skip_group()
            last = self.tokens[self.at - 1]
            body += self.source.text[start : last.pos + len(last.text)]
        return DialectAttr(dialect, body)

    def _number(self) -> Attribute:
        token = self.token
        self.at += 1
        if self.accept(":"):
            return self._value(token, self.type())
        return self._value(token, F64 if token.kind == "float" else I64)

    def _value(self, token: Token, type: Type) -> Attribute:
        if isinstance(type, FloatType):
            return self._float(token, type)
        if isinstance(type, IntegerType | IndexType) and token.kind != "float":
            return self._integer(token, type)
        raise self.error(f"{token.text} is no value of {type}", "OC1046", token)

    def _integer(self, token: Token, type: IntegerType | IndexType) -> IntAttr:
        width = type.width if isinstance(type, IntegerType) else 64
        if len(token.text) > _MAX_DIGITS:
            raise self.error("the integer is too long", "OC1046", token)
        value = int(token.text, 16 if token.kind == "hex" else 10)
        if not -(1 << (width - 1)) <= value < 1 << width:
            raise self.error(f"{token.text} does not fit in {type}", "OC1046", token)
        if type == I1:
            return BoolAttr(value != 0)
        return IntAttr(value - (1 << width) if value >> (width - 1) > 0 else value, type)

    def _float(self, token: Token, type: FloatType) -> FloatAttr:
        if token.kind == "int":
            raise self.error(f"{token.text} is no float: write {token.text}.0", "OC1046", token)
        try:
            if token.kind == "hex":
                return FloatAttr(float_from_bits(int(token.text[:_MAX_DIGITS], 16), type), type)
            exact = float(token.text)
            value = round_float(exact, type)
            if value != value or value in (float("inf"), float("-inf")):
                raise ValueError(f"{token.text} is out of the range of {type}")
        except ValueError as e:
            raise self.error(str(e), "OC1046", token) from None
        return FloatAttr(value, type)

    def _array(self) -> DenseI32Attr:
        self.expect("<")
        token = self.token
        type = self.type()
        if not isinstance(type, IntegerType) or type.width not in (8, 16, 32, 64):
            raise self.error("an array has elements of i8, i16, i32 or i64", "OC1041", token)
        if self.accept(">"):
            return DenseI32Attr((), type.width)
        self.expect(":")

        def item() -> int:
            at = self.take("int", "an integer")
            return self._integer(at, type).value

        return DenseI32Attr(tuple(self.list_of(item, ">")), type.width)

    def _dense(self) -> DenseAttr:
        self.expect("<")
        tokens: list[Token] = []

        def item() -> None:
            if self.token.kind not in ("int", "float", "hex") and self.token.text not in (
                "true",
                "false",
            ):
                raise self.error(f"expected a number, found {self._found()}")
            tokens.append(self.token)
            self.at += 1

        is_list = self.accept("[")
        if is_list:
            self.list_of(item, "]")
        else:
            item()
        self.expect(">")
        self.expect(":")
        at = self.token
        type = self.type()
        if not isinstance(type, VectorType):
            raise self.error(f"dense stands for a vector, not {type}", "OC1041", at)
        if is_list and len(tokens) != type.length:
            raise self.error(f"{len(tokens)} elements for {type}", "OC1046", at)
        return DenseAttr(tuple(self._element(t, type.element) for t in tokens), type)

    def _element(self, token: Token, element: Type) -> Attribute:
        if token.kind == "ident":
            if element != I1:
                raise self.error(f"{token.text} is no value of {element}", "OC1046", token)
            return BoolAttr(token.text == "true")
        return self._value(token, element)

    # Locations

    def location(self) -> Location | None:
        """``loc(...)``; None for an unknown one."""
        self.expect("loc")
        self.expect("(")
        out = self._location()
        self.expect(")")
        return out

    def _location(self) -> Location | None:
        """A chain of calls is read in a loop: inlined helpers nest without limit."""
        chain: list[Location | None] = []
        while self.accept("callsite"):
            self.expect("(")
            chain.append(self._place())
            self.expect("at")
        out = self._place()
        for callee in reversed(chain):
            self.expect(")")
            out = callee if out is None else _called(callee, out)
        return out

    def _place(self) -> Location | None:
        """A location that is no call."""
        if self.accept("unknown"):
            return None
        name = self.string()
        if self.accept(":"):
            return self._file_place(name)
        if not self.accept("("):
            return Location(name, 0)
        if self.accept("unknown"):
            inner = None
        else:
            file = self.string()
            self.expect(":")
            inner = self._file_place(file)
        self.expect(")")
        return inner and replace(inner, function=name)

    def _file_place(self, file: str) -> Location:
        line = self.integer()
        self.expect(":")
        col = self.integer()
        end: int | None = None
        if self.accept("to"):
            if not self.accept(":"):
                self.integer()
                self.expect(":")
            end = self.integer() - 1
        return Location(file, line, col - 1, end)


def _called(callee: Location | None, caller: Location) -> Location:
    return caller if callee is None else replace(callee, caller=caller)
