# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Text in MLIR's generic form to IR, the inverse of `printer`.

>>> op = parse('%a = "arith.constant"() {value = 4 : i32} : () -> i32')
>>> op.name, op.result.hint
('arith.constant', 'a')

Read are the generic form of operations with properties (``<{...}>``) or without, several results
(``%0:2``, ``%0#1``), regions, locations and comments; not read are aliases (``#loc1``), successors
and custom forms. A use stands after its definition. Types and attributes are read by `syntax`; for
those of dialects, import `opencute.dialects` first. Parsing does not verify.
"""

from __future__ import annotations

from opencute.base.location import Location
from opencute.ir.attributes import Attribute
from opencute.ir.core import Block, Op, Region, Value
from opencute.ir.declare import Trait, declaration
from opencute.ir.lexer import Token
from opencute.ir.syntax import Syntax, register_attr_parser, register_type_parser
from opencute.ir.types import FunctionType, Type

__all__ = ["parse", "register_attr_parser", "register_type_parser"]


def parse(text: str, file: str = "<ir>") -> Op:
    """The one operation that `text` spells.

    Args:
        text: IR in generic form.
        file: the name that errors show.

    Raises:
        CompileError: anything that is not well formed, at its line and column of `text`:
            OC1040 syntax, OC1041 unknown type, OC1042 undefined value, OC1043 defined twice,
            OC1044 types do not fit, OC1045 nested too deep, OC1046 bad literal.
    """
    parser = _Parser(text, file)
    try:
        op = parser.operation()
    except RecursionError:
        raise parser.error("nested too deep", "OC1045") from None
    if parser.token.kind != "end":
        raise parser.error("expected the end of the text after one operation")
    return op


_Tail = tuple[dict[str, Attribute], FunctionType, "Location | None"]


class _Parser(Syntax):
    def __init__(self, text: str, file: str) -> None:
        super().__init__(text, file)
        self.values: dict[str, Value] = {}
        self.defined: list[str] = []
        self.tails: dict[str, tuple[_Tail, int]] = {}

    def operation(self) -> Op:
        """``%r = "name"(%a) <{...}> ({...}) {...} : (t) -> t loc(...)``."""
        start = self.token
        names = self._result_names()
        name_token = self.token
        if name_token.kind == "ident":
            raise self.error(f'only the generic form is parsed: write "{name_token.text}"(...)')
        name = self.string()
        if not all(name.partition(".")):
            raise self.error(f"{name!r} is no name of an operation", token=name_token)
        uses = self._uses()
        if self.token.text == "[":
            raise self.error("successors are not supported")
        properties: dict[str, Attribute] = {}
        if self.accept("<"):
            properties = self.dictionary()
            self.expect(">")
        regions = self._regions(name) if self.token.text == "(" else []
        at = self.token
        attributes, type, loc = self._tail()
        if properties:
            if properties.keys() & attributes.keys():
                raise self.error("an attribute is given twice", "OC1043", at)
            attributes = {**properties, **attributes}
        operands = self._operands(uses, type.inputs, at)
        op = Op.make(name, operands, type.results, attributes, regions, loc)
        self._define_results(op, names, start)
        return op

    def _tail(self) -> _Tail:
        """``{...} : (t) -> t loc(...)``. A line often ends like an earlier one: that is reused."""
        before = self.at
        start = self.tokens[before].pos
        end = self.source.text.find("\n", start)
        line = self.source.text[start : end if end >= 0 else None]
        known = self.tails.get(line)
        if known is not None:
            tail, count = known
            self.at += count
            return tail
        attributes = self.dictionary() if self.token.text == "{" else {}
        self.expect(":")
        type = self.function_type()
        loc = self.location() if self.token.text == "loc" else None
        if self.tokens[self.at - 1].pos < start + len(line):
            self.tails[line] = (attributes, type, loc), self.at - before
        return attributes, type, loc

    def _result_names(self) -> list[tuple[Token, int]]:
        """``%a, %b:2 =``."""
        names: list[tuple[Token, int]] = []
        while self.token.kind == "value":
            token = self.token
            self.at += 1
            if "#" in token.text:
                raise self.error("a definition has no '#'", token=token)
            count = 1
            if self.accept(":"):
                count = self.integer()
                if not 1 <= count <= 1000:
                    raise self.error("the number of results is out of range", token=token)
            names.append((token, count))
            if not self.accept(","):
                break
        if names:
            self.expect("=")
        return names

    def _uses(self) -> list[Token]:
        self.expect("(")
        return self.list_of(lambda: self.take("value", "a value"), ")")

    def _operands(self, uses: list[Token], types: tuple[Type, ...], at: Token) -> list[Value]:
        if len(uses) != len(types):
            raise self.error(f"{len(uses)} operands, but {len(types)} types", "OC1044", at)
        operands: list[Value] = []
        for use, type in zip(uses, types, strict=True):
            value = self.values.get(use.text)
            if value is None:
                raise self.error(f"{use.text} is not defined before this use", "OC1042", use)
            if value.type != type:
                message = f"{use.text} has type {value.type}, not {type}"
                raise self.error(message, "OC1044", use)
            operands.append(value)
        return operands

    def _define(self, token: Token, text: str, value: Value) -> None:
        if text in self.values:
            raise self.error(f"{text} is defined twice", "OC1043", token)
        self.values[text] = value
        self.defined.append(text)
        hint = text[1:]
        if not hint[0].isdigit():
            value.hint = hint

    def _define_results(self, op: Op, names: list[tuple[Token, int]], at: Token) -> None:
        results = iter(op.results)
        if sum(n for _, n in names) != len(op.results):
            given = sum(n for _, n in names)
            message = f"{op.name} has {len(op.results)} results, but {given} are named"
            raise self.error(message, "OC1044", at)
        for token, count in names:
            if count == 1:
                self._define(token, token.text, next(results))
                continue
            if token.text in self.values or f"{token.text}#0" in self.values:
                raise self.error(f"{token.text} is defined twice", "OC1043", token)
            for i in range(count):
                self.values[f"{token.text}#{i}"] = next(results)
                self.defined.append(f"{token.text}#{i}")

    def _regions(self, name: str) -> list[Region]:
        self.expect("(")
        decl = declaration(name)
        isolated = decl is not None and Trait.ISOLATED in decl.traits
        regions: list[Region] = []
        while True:
            outside = self.values, self.defined
            self.values, self.defined = {} if isolated else self.values, []
            regions.append(self._region())
            for text in self.defined:
                del self.values[text]
            self.values, self.defined = outside
            if self.accept(")"):
                return regions
            self.expect(",")

    def _region(self) -> Region:
        self.expect("{")
        region = Region()
        labels: set[str] = set()
        block: Block | None = None
        while not self.accept("}"):
            if self.token.kind == "block":
                block = self._label(labels)
            elif block is None:
                block = Block()
            else:
                block.append(self.operation())
                continue
            block.parent = region
            region.blocks.append(block)
        return region

    def _label(self, labels: set[str]) -> Block:
        """``^bb0(%a: i32):``."""
        token = self.take("block", "a block's label")
        if token.text in labels:
            raise self.error(f"{token.text} is defined twice", "OC1043", token)
        labels.add(token.text)
        block = Block()

        def argument() -> None:
            at = self.take("value", "a block argument")
            if "#" in at.text:
                raise self.error("a definition has no '#'", token=at)
            self.expect(":")
            self._define(at, at.text, block.add_argument(self.type()))
            if self.token.text == "loc":
                self.location()

        if self.accept("("):
            self.list_of(argument, ")")
        self.expect(":")
        return block
