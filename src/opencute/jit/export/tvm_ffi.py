# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""TVM-FFI's entry of an exported function, as LLVM IR: ``__tvm_ffi_<name>``.

In: the function's parameters as data. Out: code that takes packed arguments (tensors as DLPack
describes them), checks types, extents, strides, divisors and alignment, loads the kernels on the
first tensor's device at the first call, and runs the host function on the environment's stream. A
check that fails raises TypeError or ValueError with a text that was made here; nothing is formatted
at a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute.codegen.hopper.tensor_maps import BAD_TENSOR_MAP
from opencute.codegen.host import TOO_MUCH_SMEM
from opencute.lang.numbers import NUMERIC_CLASSES

__all__ = ["entry_text", "has_entry"]

# Type indices of TVMFFIAny (c_api.h), and where a tensor object keeps its DLTensor.
_NONE, _INT, _BOOL, _FLOAT, _POINTER, _DLTENSOR, _TENSOR, _OBJECT_BYTES = 0, 1, 2, 3, 4, 7, 70, 24
# Offsets in DLTensor (dlpack.h).
_DEVICE, _ORDINAL, _NDIM, _DTYPE, _SHAPE, _STRIDES, _OFFSET = 8, 12, 16, 20, 24, 32, 40
_CUDA = 2
_MAX_DEVICES = 64
_FLOATS = {"f32": "float", "f64": "double"}

_REFUSALS = (
    (
        BAD_TENSOR_MAP,
        "TMA cannot move a tensor: addresses and strides are multiples of 16 bytes, extents are "
        "between 1 and 2^32",
    ),
    (TOO_MUCH_SMEM, "a kernel is launched with more shared memory than a block may have"),
)

_DECLARATIONS = """
declare void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)
declare ptr @TVMFFIEnvGetStream(i32, i32)
declare i32 @cuGetErrorName(i32, ptr)
@__opencute_type_error = private constant [10 x i8] c"TypeError\\00"
@__opencute_value_error = private constant [11 x i8] c"ValueError\\00"
@__opencute_runtime_error = private constant [13 x i8] c"RuntimeError\\00"
"""


def has_entry(parameters: dict[str, dict[str, Any]]) -> bool:
    """Whether arguments of these kinds can be taken from packed ones."""
    return all(_known(p) for p in parameters.values())


def _known(p: dict[str, Any]) -> bool:
    if p["kind"] == "tensor":
        return NUMERIC_CLASSES[p["dtype"]].dtype.memory_bits >= 8
    if p["kind"] == "scalar":
        return p["dtype"] in _FLOATS or not NUMERIC_CLASSES[p["dtype"]].dtype.is_float
    return p["kind"] in ("symbol", "pointer", "stream", "env_stream", "none")


def entry_text(
    prefix: str, parameters: dict[str, dict[str, Any]], launches: int, results: Sequence[str]
) -> str:
    """The entry's IR.

    Args:
        prefix: the function's name.
        parameters: its parameters, all of which `has_entry` takes.
        launches: how many kernels it launches.
        results: element types of what it returns; a single one is given to the caller.
    """
    return _Entry(prefix, parameters, launches, results).text()


class _Entry:
    def __init__(
        self, prefix: str, parameters: dict[str, Any], launches: int, results: Sequence[str]
    ) -> None:
        self.prefix = prefix
        self.parameters = parameters
        self.launches = launches
        self.results = results
        self.lines: list[str] = []
        self.strings: list[str] = []
        self.count = 0
        self.slot = 2
        self.device = ""
        self.symbols: dict[int, tuple[str, str]] = {}
        names = [n for n, p in parameters.items() if p["kind"] not in ("env_stream", "none")]
        self.signature = (
            f"{prefix}({', '.join(f'{n}: {self._show(parameters[n])}' for n in names)})"
        )
        self.names = names

    def _show(self, p: dict[str, Any]) -> str:
        if p["kind"] != "tensor":
            return str(p.get("dtype", p["kind"]))

        def mode(m: Any) -> str:
            return f"n{m['symbol']}" if isinstance(m, dict) else str(m)

        dtype = NUMERIC_CLASSES[p["dtype"]].dtype
        return f"Tensor([{', '.join(map(mode, p['shape']))}], {dtype.numpy_name or p['dtype']})"

    # ---- pieces of code
    def op(self, text: str) -> str:
        """An instruction with a result; its name."""
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def string(self, text: str) -> str:
        """A constant."""
        data = text.encode()
        body = "".join(chr(b) if 31 < b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data)
        name = f'@"{self.prefix}__text{len(self.strings)}"'
        self.strings.append(f'{name} = private constant [{len(data) + 1} x i8] c"{body}\\00"')
        return name

    def at(self, base: str, offset: int, type: str) -> str:
        """A load."""
        place = self.op(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self.op(f"load {type}, ptr {place}, align 1")

    def check(self, ok: str, kind: str, message: str) -> None:
        """Raise unless `ok`."""
        n = self.count
        self.lines += [
            f"  br i1 {ok}, label %ok{n}, label %bad{n}",
            f"bad{n}:",
            f"  call void @TVMFFIErrorSetRaisedFromCStr(ptr @__opencute_{kind}_error, "
            f"ptr {self.string(message)})",
            "  ret i32 -1",
            f"ok{n}:",
        ]

    def store(self, type: str, value: str) -> None:
        """Fill the next slot."""
        place = self.op(f"getelementptr i64, ptr %slots, i64 {self.slot}")
        self.lines.append(f"  store {type} {value}, ptr {place}, align 8")
        self.slot += 1

    # ---- arguments
    def argument(self, number: int, name: str, p: dict[str, Any]) -> None:
        """Check and store one argument."""
        where = f"on argument #{number} when calling: `{self.signature}`, expected "
        index = self.at("%args", 16 * number, "i32")
        payload = f"{16 * number + 8}"
        if p["kind"] == "tensor":
            self._tensor(name, p, index, self.at("%args", int(payload), "ptr"), where)
            return
        if p["kind"] in ("pointer", "stream"):
            self.check(self._one_of(index, _POINTER, _NONE, _INT), "type",
                       f"Mismatched type {where}a pointer")  # fmt: skip
            self.store("i64", self.at("%args", int(payload), "i64"))
            return
        dtype = p.get("dtype") or f"i{p['value']['width']}"
        self._number(name, dtype, p, index, int(payload), where)

    def _one_of(self, index: str, *kinds: int) -> str:
        found = "false"
        for kind in kinds:
            same = self.op(f"icmp eq i32 {index}, {kind}")
            found = self.op(f"or i1 {found}, {same}")
        return found

    def _number(
        self, name: str, dtype: str, p: dict[str, Any], index: str, payload: int, where: str
    ) -> None:
        value = self.at("%args", payload, "i64")
        whole = self._one_of(index, _INT, _BOOL)
        if dtype in _FLOATS:
            real = self.op(f"icmp eq i32 {index}, {_FLOAT}")
            self.check(
                self.op(f"or i1 {whole}, {real}"), "type", f"Mismatched type {where}a number"
            )
            bits = self.op(f"bitcast i64 {value} to double")
            converted = self.op(f"sitofp i64 {value} to double")
            number = self.op(f"select i1 {real}, double {bits}, double {converted}")
            if dtype == "f32":
                number = self.op(f"fptrunc double {number} to float")
            self.store(_FLOATS[dtype], number)
            return
        self.check(whole, "type", f"Mismatched type {where}an integer")
        t = NUMERIC_CLASSES[dtype].dtype
        if t.width < 64:
            short = self.op(f"trunc i64 {value} to i{t.width}")
            wide = self.op(f"{'sext' if t.signed else 'zext'} i{t.width} {short} to i64")
            same = self.op(f"icmp eq i64 {wide}, {value}")
            self.check(same, "value", f"Invalid {name} {where}{t.min} to {t.max}")
        if "value" in p:
            self._symbol(p["value"], value, name, where)
        self.store("i64", value)

    def _tensor(self, name: str, p: dict[str, Any], index: str, payload: str, where: str) -> None:
        self.check(
            self._one_of(index, _DLTENSOR, _TENSOR), "type", f"Mismatched type {where}Tensor"
        )
        inner = self.op(f"getelementptr i8, ptr {payload}, i64 {_OBJECT_BYTES}")
        boxed = self.op(f"icmp eq i32 {index}, {_TENSOR}")
        t = self.op(f"select i1 {boxed}, ptr {inner}, ptr {payload}")
        rank = len(p["shape"])
        ndim = self.op(f"icmp eq i32 {self.at(t, _NDIM, 'i32')}, {rank}")
        self.check(ndim, "value", f"Mismatched {name}.ndim {where}{rank}")
        code, bits = NUMERIC_CLASSES[p["dtype"]].dtype.dlpack or (2, 32)
        dtype = self.op(f"icmp eq i32 {self.at(t, _DTYPE, 'i32')}, {code | bits << 8 | 1 << 16}")
        self.check(
            dtype, "type", f"Mismatched {name}.dtype {where}{self._show(p).split(', ')[-1][:-1]}"
        )
        if self.launches:
            cuda = self.op(f"icmp eq i32 {self.at(t, _DEVICE, 'i32')}, {_CUDA}")
            self.check(cuda, "value", f"Mismatched {name}.device {where}a CUDA device")
            ordinal = self.at(t, _ORDINAL, "i32")
            same = self.op(f"icmp eq i32 {ordinal}, {self.device or ordinal}")
            self.check(same, "value", f"Mismatched {name}.device {where}that of the first tensor")
            self.device = self.device or ordinal
        data, offset = self.at(t, 0, "i64"), self.at(t, _OFFSET, "i64")
        address = self.op(f"add i64 {data}, {offset}")
        low = self.op(f"and i64 {address}, {p['align'] - 1}")
        aligned = self.op(f"icmp eq i64 {low}, 0")
        self.check(
            aligned, "value", f"Misaligned Tensor data {where}data alignment={p['align']} bytes"
        )
        self.store("i64", address)
        shape, strides = self.at(t, _SHAPE, "ptr"), self.at(t, _STRIDES, "ptr")
        if rank:
            given = self.op(f"icmp ne ptr {strides}, null")
            self.check(given, "value", f"Mismatched {name}.strides {where}strides")
        extents = [self.at(shape, 8 * i, "i64") for i in range(rank)]
        steps = [self.at(strides, 8 * i, "i64") for i in range(rank)]
        for i, (mode, n) in enumerate(zip(p["shape"], extents, strict=True)):
            self._mode(mode, n, "false", f"{name}.shape[{i}]", where)
        empty = "false"
        for n in extents:
            zero = self.op(f"icmp eq i64 {n}, 0")
            empty = self.op(f"or i1 {empty}, {zero}")
        for i, (mode, d) in enumerate(zip(p["stride"], steps, strict=True)):
            one = self.op(f"icmp eq i64 {extents[i]}, 1")
            unused = self.op(f"or i1 {one}, {empty}")
            self._mode(mode, d, unused, f"{name}.stride[{i}]", where)
        for mode, value in zip([*p["shape"], *p["stride"]], [*extents, *steps], strict=True):
            if isinstance(mode, dict):
                self.store("i64", value)

    def _mode(self, mode: Any, value: str, unused: str, what: str, where: str) -> None:
        """Check an extent or stride; `unused`: it does not matter in this call."""
        if isinstance(mode, int):
            same = self.op(f"icmp eq i64 {value}, {mode}")
            fits = self.op(f"or i1 {same}, {unused}")
            self.check(fits, "value", f"Mismatched {what} {where}{mode}")
        elif "symbol" in mode:
            self._symbol(mode, value, what, where, unused)
        else:
            product = "1"
            for f in mode["factors"]:
                factor = str(f) if isinstance(f, int) else self.symbols[f["symbol"]][0]
                product = self.op(f"mul i64 {product}, {factor}")
            same = self.op(f"icmp eq i64 {value}, {product}")
            fits = self.op(f"or i1 {same}, {unused}")
            self.check(fits, "value", f"Mismatched {what} {where}that of a compact tensor")

    def _symbol(
        self, mode: dict[str, Any], value: str, what: str, where: str, unused: str = "false"
    ) -> None:
        known = self.symbols.setdefault(mode["symbol"], (value, what))
        if known[0] != value:
            same = self.op(f"icmp eq i64 {value}, {known[0]}")
            fits = self.op(f"or i1 {same}, {unused}")
            self.check(fits, "value", f"Mismatched {what} {where}to match {known[1]}")
        if mode["div"] > 1:
            rest = self.op(f"srem i64 {value}, {mode['div']}")
            even = self.op(f"icmp eq i64 {rest}, 0")
            fits = self.op(f"or i1 {even}, {unused}")
            self.check(fits, "value", f"Invalid {what} {where}to be divisible by {mode['div']}")
        if mode["width"] == 32:
            small = self.op(f"icmp ult i64 {value}, {1 << 31}")
            fits = self.op(f"or i1 {small}, {unused}")
            self.check(fits, "value", f"Invalid {what} {where}less than 2^31")

    # ---- the whole
    def text(self) -> str:
        """The definitions."""
        right = self.op(f"icmp eq i32 %count, {len(self.names)}")
        self.check(
            right, "type", f"Mismatched number of arguments when calling: `{self.signature}`, "
            f"expected {len(self.names)}",
        )  # fmt: skip
        number = 0
        for name, p in self.parameters.items():
            if p["kind"] in ("env_stream", "none"):
                continue
            self.argument(number, name, p)
            number += 1
        if self.launches:
            self._load()
        slots = self.slot + len(self.results)
        status = self.op(f'call i32 @"{self.prefix}__host"(ptr %slots)')
        for bit, message in _REFUSALS:
            flag = self.op(f"and i32 {status}, {bit}")
            self.check(self.op(f"icmp eq i32 {flag}, 0"), "value", message)
        self._cuda(status)
        self._result()
        head = (
            f'define i32 @"__tvm_ffi_{self.prefix}"(ptr %self, ptr %args, i32 %count, ptr %out) {{'
        )
        body = [head, "entry:", f"  %slots = alloca [{slots} x i64], align 8",
                "  %name = alloca ptr, align 8",
                f"  call void @llvm.memset.p0.i64(ptr %slots, i8 0, i64 {8 * slots}, i1 false)",
                *self.lines, "  ret i32 0", "}"]  # fmt: skip
        row = max(self.launches, 1) + 1
        state = [
            f'@"{self.prefix}__modules" = internal global [{_MAX_DEVICES * row} x ptr] '
            "zeroinitializer",
            f'@"{self.prefix}__contexts" = internal global [{_MAX_DEVICES} x ptr] zeroinitializer',
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        ]
        return "\n".join([_DECLARATIONS, *state, *self.strings, *body])

    def _load(self) -> None:
        """The device's context, its kernels at the first call, the current stream."""
        device = self.device or self.op("add i32 0, 0")
        known = self.op(f"icmp ult i32 {device}, {_MAX_DEVICES}")
        self.check(known, "runtime", "the device's number is too large")
        wide = self.op(f"zext i32 {device} to i64")
        self._cuda(self.op("call i32 @cuInit(i32 0)"))
        place = self.op(f'getelementptr ptr, ptr @"{self.prefix}__contexts", i64 {wide}')
        kept = self.op(f"load ptr, ptr {place}")
        n = self.count
        self.lines += [
            f"  %new{n} = icmp eq ptr {kept}, null",
            f"  br i1 %new{n}, label %retain{n}, label %have{n}",
            f"retain{n}:",
        ]
        self._cuda(self.op(f"call i32 @cuDevicePrimaryCtxRetain(ptr {place}, i32 {device})"))
        self.lines += [f"  br label %have{n}", f"have{n}:"]
        context = self.op(f"load ptr, ptr {place}")
        self._cuda(self.op(f"call i32 @cuCtxSetCurrent(ptr {context})"))
        row = self.op(f"mul i64 {wide}, {self.launches + 1}")
        module = self.op(f'getelementptr ptr, ptr @"{self.prefix}__modules", i64 {row}')
        last = self.op(f"getelementptr ptr, ptr {module}, i64 {self.launches}")
        loaded = self.op(f"load ptr, ptr {last}")
        n = self.count
        self.lines += [
            f"  %fresh{n} = icmp eq ptr {loaded}, null",
            f"  br i1 %fresh{n}, label %load{n}, label %ready{n}",
            f"load{n}:",
        ]
        self._cuda(self.op(f'call i32 @"{self.prefix}_Kernel_Module_Load"(ptr {module})'))
        self.lines += [f"  br label %ready{n}", f"ready{n}:"]
        stream = self.op(f"call ptr @TVMFFIEnvGetStream(i32 {_CUDA}, i32 {device})")
        self.lines.append(f"  store ptr {stream}, ptr %slots, align 8")
        functions = self.op(f"getelementptr ptr, ptr {module}, i64 1")
        second = self.op("getelementptr i64, ptr %slots, i64 1")
        self.lines.append(f"  store ptr {functions}, ptr {second}, align 8")

    def _cuda(self, status: str) -> None:
        """Raise a driver's error by its name."""
        n = self.count
        self.lines += [
            f"  %wrong{n} = icmp ne i32 {status}, 0",
            f"  br i1 %wrong{n}, label %cuda{n}, label %fine{n}",
            f"cuda{n}:",
            f"  store ptr {self.string('CUDA error')}, ptr %name",
            f"  call i32 @cuGetErrorName(i32 {status}, ptr %name)",
            f"  %said{n} = load ptr, ptr %name",
            f"  %silent{n} = icmp eq ptr %said{n}, null",
            f"  %text{n} = select i1 %silent{n}, ptr {self.string('CUDA error')}, ptr %said{n}",
            "  call void @TVMFFIErrorSetRaisedFromCStr(ptr @__opencute_runtime_error, "
            f"ptr %text{n})",
            "  ret i32 -1",
            f"fine{n}:",
        ]

    def _result(self) -> None:
        """A single number for the caller, else nothing."""
        if len(self.results) != 1 or self.results[0] in ("f16", "bf16"):
            self.lines += ["  store i64 0, ptr %out", *self._payload("i64 0")]
            return
        dtype = NUMERIC_CLASSES[self.results[0]].dtype
        place = self.op(f"getelementptr i64, ptr %slots, i64 {self.slot}")
        if dtype.is_float:
            type = _FLOATS[dtype.name]
            value = self.op(f"load {type}, ptr {place}")
            value = self.op(f"fpext float {value} to double") if type == "float" else value
            self.lines += [f"  store i64 {_FLOAT}, ptr %out", *self._payload(f"double {value}")]
            return
        value = self.op(f"load i{dtype.width}, ptr {place}")
        if dtype.width < 64:
            word = "sext" if dtype.signed and not dtype.is_bool else "zext"
            value = self.op(f"{word} i{dtype.width} {value} to i64")
        kind = _BOOL if dtype.is_bool else _INT
        self.lines += [f"  store i64 {kind}, ptr %out", *self._payload(f"i64 {value}")]

    def _payload(self, value: str) -> list[str]:
        place = self.op("getelementptr i8, ptr %out, i64 8")
        return [f"  store {value}, ptr {place}"]
