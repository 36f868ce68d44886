# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The host function as LLVM IR text for this CPU: it computes grids and launches kernels.

In: a module with one ``func.func``. Out: IR that defines ``i32 @<name>(ptr %call)``. `call`
points to 8-byte slots, all little-endian, a value in the low bytes of its slot::

    slot 0      CUstream: used by launches that name no stream of their own
    slot 1      pointer to an array of CUfunction, one per launch in the order of the text
    slot 2 + i  argument i of the function: a pointer, integer or float
    then        the function's results, which the call writes

The call itself gives the first CUresult that is not 0; later launches are then skipped. A launch
whose run-time amount of shared memory is more than a block may have gives `TOO_MUCH_SMEM` plus
that; a tensor that no tensor map can describe gives what `codegen.hopper.tensor_maps` says. A
launch with an empty grid is left out, because the driver calls it an error where it is only nothing
to do.
`launches` lists the kernels that slot 1 needs. The text declares ``cuLaunchKernelEx`` and what
makes tensor maps; whoever compiles it (`opencute.native.jit.compile_host`) gives their addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opencute.arch.tma import Tile
from opencute.base.errors import ToolchainError
from opencute.base.location import Location
from opencute.codegen.emitter import Emitter, ModuleText, OpPrinter
from opencute.codegen.hopper.tensor_maps import encode_map
from opencute.codegen.host_ops import HOST_OPS
from opencute.codegen.llvm_types import llvm_type
from opencute.dialects.gpu import LaunchFuncOp
from opencute.dialects.hopper.launch import LaunchEventOp
from opencute.dialects.hopper.tensor_maps import DescriptorOp, TmaDescType, tile_of
from opencute.ir.attributes import Attribute, BoolAttr, IntAttr, UnitAttr
from opencute.ir.core import Op, Value
from opencute.ir.types import Type

__all__ = [
    "ARGUMENT_SLOT",
    "FUNCTIONS_SLOT",
    "STREAM_SLOT",
    "TOO_MUCH_SMEM",
    "HostCode",
    "compile_host_text",
]

STREAM_SLOT, FUNCTIONS_SLOT, ARGUMENT_SLOT = 0, 1, 2

# CUlaunchConfig (cuda.h): seven u32, padding, stream, attributes, their number.
_CONFIG_BYTES, _STREAM_AT, _ATTRS_AT, _COUNT_AT = 56, 32, 40, 48
# CUlaunchAttribute: an id, padding, and a value of 64 bytes.
_ATTRIBUTE_BYTES, _VALUE_AT = 72, 8
_COOPERATIVE, _CLUSTER_DIMENSION, _PDL, _PREFERRED_CLUSTER, _CARVEOUT = 2, 4, 6, 11, 14
_PROGRAMMATIC_EVENT, _COMPLETION_EVENT = 7, 12


TOO_MUCH_SMEM = 1 << 30
"""Set in a result that says how much shared memory a launch asked for in vain."""

# What LLVM calls to make a bfloat on CPUs without the instruction: rounds to nearest even.
_TO_BFLOAT = """define weak bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %odd = and i32 %high, 1
  %half = add i32 %odd, 32767
  %sum = add i32 %bits, %half
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %high, 64
  %nan = fcmp uno float %x, %x
  %word = select i1 %nan, i32 %quiet, i32 %rounded
  %short = trunc i32 %word to i16
  %y = bitcast i16 %short to bfloat
  ret bfloat %y
}"""


@dataclass(frozen=True)
class HostCode:
    """A host function as text.

    Args:
        name: its symbol.
        llvm_ir: the module that defines it.
        launches: names of the kernels it launches, in order; one CUfunction each.
        slots: number of 8-byte slots that a call passes.
        results: types of the last of them, into which the function writes its results.
        maps: the tensor maps that it makes: where, and of which tiles.
    """

    name: str
    llvm_ir: str
    launches: tuple[str, ...]
    slots: int
    results: tuple[Type, ...] = ()
    maps: tuple[tuple[Location | None, Tile], ...] = ()


def compile_host_text(module: Op, name: str | None = None) -> HostCode:
    """The text of a host function.

    Args:
        module: a ``builtin.module`` whose host functions are at the llvm level.
        name: which function; the only one when omitted.

    Raises:
        ToolchainError: no such function, or an operation that host code cannot have.
    """
    function = _function(module, name)
    symbol = function.symbol
    assert symbol is not None
    printer = _HostPrinter(symbol)
    text = printer.function(function)
    shared = printer.module
    lines = [f"{n} = {body}" for body, n in shared.globals.items()]
    lines += [text, *shared.declarations]
    if "bfloat" in text:
        lines.append(_TO_BFLOAT)
    results = printer.results
    slots = ARGUMENT_SLOT + len(function.regions[0].block.args) + len(results)
    return HostCode(
        symbol, "\n".join(lines) + "\n", tuple(printer.launches), slots, results,
        tuple(printer.maps),
    )  # fmt: skip


def _function(module: Op, name: str | None) -> Op:
    functions = [f for f in module.regions[0].block.ops if f.name == "func.func"]
    found = [f for f in functions if name in (None, f.symbol)]
    if len(found) != 1:
        raise ToolchainError(
            "the module does not have the host function",
            code="OC1526",
            expected=name or "one function",
            found=", ".join(str(f.symbol) for f in functions) or "none",
        )
    return found[0]


class _HostPrinter:
    """Prints one host function and notes its launches."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = ModuleText()
        self.launches: list[str] = []
        self.results: tuple[Type, ...] = ()
        self.maps: list[tuple[Location | None, Tile]] = []
        table: dict[str, OpPrinter] = {
            **HOST_OPS, "cute.launch_event": self._event, "cute.tma_descriptor": self._map,
            "gpu.launch_func": self._launch,
        }  # fmt: skip
        self.e = Emitter(self.module, table)
        self.slot_of: dict[Value, str] = {}
        self.events: list[tuple[int, list[str]]] = []

    def function(self, op: Op) -> str:
        """The definition."""
        e, block = self.e, op.regions[0].block
        for i, arg in enumerate(block.args):
            slot = self.slot_of[arg] = self._slot(ARGUMENT_SLOT + i)
            e.emit(arg, f"load {llvm_type(arg.type)}, ptr {slot}, align 8")
        last = e.ops(block)
        self.results = tuple(v.type for v in last.operands)
        for i, value in enumerate(last.operands, ARGUMENT_SLOT + len(block.args)):
            e.void(f"store {e.typed(value)}, ptr {self._slot(i)}, align 8")
        e.void("ret i32 0")
        head = f'define i32 @"{self.name}"(ptr %call) {{'
        return "\n".join([head, "entry:", *e.allocas, *e.lines, "}"])

    def _slot(self, index: int) -> str:
        return self.e.assign(f"getelementptr i64, ptr %call, i32 {index}")

    def _field(self, base: str, offset: int, type: str, value: str) -> None:
        place = self.e.assign(f"getelementptr i8, ptr {base}, i32 {offset}")
        self.e.void(f"store {type} {value}, ptr {place}, align {4 if type == 'i32' else 8}")

    def _i32(self, value: Value) -> str:
        e = self.e
        if llvm_type(value.type) == "i32":
            return e.ref(value)
        word = "trunc" if llvm_type(value.type) == "i64" else "zext"
        return e.assign(f"{word} {e.typed(value)} to i32")

    def _map(self, e: Emitter, op: Op) -> None:
        assert isinstance(op, DescriptorOp)
        encode_map(e, op, len(self.maps))
        self.maps.append((op.loc, tile_of(op)))

    def _event(self, e: Emitter, op: Op) -> None:
        """Keep an event for the launch that follows."""
        assert isinstance(op, LaunchEventOp)
        low = e.assign(f"trunc {e.typed(op.event)} to i32")
        high = self._i32_of(e.assign(f"lshr {e.typed(op.event)}, 32"))
        words = [low, high, str(op.flags.value)]
        if op.kind.value == "completion":
            self.events.append((_COMPLETION_EVENT, words))
        else:
            self.events.append((_PROGRAMMATIC_EVENT, [*words, str(op.at_start.value)]))

    def _i32_of(self, name: str) -> str:
        return self.e.assign(f"trunc i64 {name} to i32")

    def _launch(self, e: Emitter, op: Op) -> None:
        assert isinstance(op, LaunchFuncOp)
        grid = [op.grid_x, op.grid_y, op.grid_z]
        go, done = e.label("launch"), e.label("launched")
        empty = "false"
        for extent in grid:
            zero = e.assign(f"icmp eq {e.typed(extent)}, 0")
            empty = e.assign(f"or i1 {empty}, {zero}")
        e.branch(empty, done, go)
        e.start(go)
        self._check_smem(op)
        config = self._config(op, grid)
        functions = e.assign(f"load ptr, ptr {self._slot(FUNCTIONS_SLOT)}, align 8")
        place = e.assign(f"getelementptr ptr, ptr {functions}, i32 {len(self.launches)}")
        function = e.assign(f"load ptr, ptr {place}, align 8")
        self.launches.append(op.kernel.path[-1])
        params = self._params(op.args)
        arguments = [("ptr", config), ("ptr", function), ("ptr", params), ("ptr", "null")]
        status = e.call("cuLaunchKernelEx", "i32", arguments)
        bad, failed = e.assign(f"icmp ne i32 {status}, 0"), e.label("failed")
        e.branch(bad, failed, done)
        e.start(failed)
        e.void(f"ret i32 {status}")
        e.start(done)

    def _check_smem(self, op: LaunchFuncOp) -> None:
        """Return early if a run-time amount of shared memory is more than a block may have."""
        e, limit, smem = self.e, op.attributes.get("cute.smem_limit"), op.smem
        if smem is None or not isinstance(limit, IntAttr):
            return
        type = llvm_type(smem.type)
        large = e.assign(f"icmp ugt {type} {e.ref(smem)}, {limit.value}")
        bad, fine = e.label("toomuch"), e.label("fits")
        e.branch(large, bad, fine)
        e.start(bad)
        most = TOO_MUCH_SMEM - 1
        over = e.assign(f"icmp ugt {type} {e.ref(smem)}, {most}")
        found = e.assign(f"select i1 {over}, {type} {most}, {type} {e.ref(smem)}")
        small = found if type == "i32" else e.assign(f"trunc {type} {found} to i32")
        e.void(f"ret i32 {e.assign(f'or i32 {small}, {TOO_MUCH_SMEM}')}")
        e.start(fine)

    def _config(self, op: LaunchFuncOp, grid: Sequence[Value]) -> str:
        config = self.e.alloca("i8", _CONFIG_BYTES, 8)
        for i, v in enumerate([*grid, op.block_x, op.block_y, op.block_z]):
            self._field(config, 4 * i, "i32", self._i32(v))
        smem = op.smem
        self._field(config, 24, "i32", "0" if smem is None else self._i32(smem))
        own = op.async_object
        if own is None:
            stream = self.e.assign(f"load ptr, ptr {self._slot(STREAM_SLOT)}, align 8")
        else:
            stream = self.e.ref(own)
        self._field(config, _STREAM_AT, "ptr", stream)
        attributes = self._attributes(op)
        self._field(config, _COUNT_AT, "i32", str(len(attributes)))
        base = self.e.alloca("i8", max(1, len(attributes)) * _ATTRIBUTE_BYTES, 8)
        self._field(config, _ATTRS_AT, "ptr", base)
        for i, (id, values) in enumerate(attributes):
            self._field(base, i * _ATTRIBUTE_BYTES, "i32", str(id))
            for j, value in enumerate(values):
                self._field(base, i * _ATTRIBUTE_BYTES + _VALUE_AT + 4 * j, "i32", value)
        return config

    def _attributes(self, op: LaunchFuncOp) -> list[tuple[int, list[str]]]:
        out: list[tuple[int, list[str]]] = []
        cluster = [op.cluster_x, op.cluster_y, op.cluster_z]
        if op.cluster_x is not None:
            out.append((_CLUSTER_DIMENSION, [self._i32(v) for v in cluster if v is not None]))
        out += self.events
        self.events = []
        if _is_set(op.attributes.get("cute.use_pdl")):
            out.append((_PDL, ["1"]))
        if _is_set(op.attributes.get("cute.cooperative")):
            out.append((_COOPERATIVE, ["1"]))
        carveout = op.attributes.get("cute.carveout")
        if isinstance(carveout, IntAttr):
            out.append((_CARVEOUT, [str(carveout.value)]))
        return out

    def _params(self, args: Sequence[Value]) -> str:
        """The array of pointers to arguments; a function's own argument is passed where it lies."""
        e = self.e
        params = e.alloca("ptr", max(1, len(args)), 8)
        for i, arg in enumerate(args):
            place = e.ref(arg) if isinstance(arg.type, TmaDescType) else self.slot_of.get(arg)
            if place is None:
                place = e.alloca("i64", 1, 8)
                e.void(f"store {e.typed(arg)}, ptr {place}, align 8")
            at = e.assign(f"getelementptr ptr, ptr {params}, i32 {i}")
            e.void(f"store ptr {place}, ptr {at}, align 8")
        return params


def _is_set(attr: Attribute | None) -> bool:
    if isinstance(attr, BoolAttr | IntAttr):
        return bool(attr.value)
    return isinstance(attr, UnitAttr)
