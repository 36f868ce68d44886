# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The C header of an exported function.

In: its name and parameters. Out: text that declares a structure for each tensor (a pointer and the
extents and strides that differ between calls), loading and unloading of the kernels, and an inline
function that packs arguments for the host code. It needs nothing but ``<stdint.h>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.jit.export.parameters import Parameters

__all__ = ["c_header"]

assert Parameters  # the descriptions that this module reads

_C_TYPES = {
    "i1": "bool", "i8": "int8_t", "u8": "uint8_t", "i16": "int16_t", "u16": "uint16_t",
    "i32": "int32_t", "u32": "uint32_t", "i64": "int64_t", "u64": "uint64_t", "f32": "float",
    "tf32": "float", "f64": "double", "f16": "uint16_t", "bf16": "uint16_t",
}  # fmt: skip
_BITS_OF = {"f16": "the bits of an IEEE half", "bf16": "the bits of a bfloat16"}


@dataclass
class _Arguments:
    """Parameters of the inline function, and the statements that fill its slots."""

    prefix: str
    types: list[str] = field(default_factory=list[str])
    parameters: list[str] = field(default_factory=list[str])
    statements: list[str] = field(default_factory=list[str])
    slot: int = 2
    stream: str = ""

    def put(self, value: str, size: str) -> None:
        """Copy a value into the next slot."""
        self.statements.append(f"memcpy(&slots[{self.slot}], &{value}, {size});")
        self.slot += 1

    def add(self, name: str, data: dict[str, Any]) -> None:
        """One parameter."""
        kind = data["kind"]
        if kind == "tensor":
            self._tensor(name, data)
        elif kind in ("scalar", "symbol"):
            value = data.get("value", {})
            dtype = data.get("dtype") or f"i{value['width']}"
            note = f" /* {_BITS_OF[dtype]} */" if dtype in _BITS_OF else ""
            self.parameters.append(f"{_c_type(name, dtype)} {name}{note}")
            self.put(name, f"sizeof({name})")
        elif kind in ("pointer", "stream"):
            self.parameters.append(f"void *{name}")
            self.put(name, "sizeof(void *)")
        elif kind == "tuple":
            for i, item in enumerate(data["items"]):
                self.add(f"{name}_{i}", item)
        elif kind == "env_stream":
            self.parameters.append(f"void *{name}")
            self.stream = name

    def _tensor(self, name: str, data: dict[str, Any]) -> None:
        type = f"{self.prefix}_Tensor_{name}_t"
        shapes, strides = _dynamic(data["shape"]), _dynamic(data["stride"])
        lines = ["    void *data;"]
        for what, modes in (("shapes", shapes), ("strides", strides)):
            if modes:
                width = _one_width(name, modes)
                lines.append(f"    int{width}_t dynamic_{what}[{len(modes)}];")
        self.types.append("\n".join(["typedef struct {", *lines, f"}} {type};"]))
        self.parameters.append(f"const {type} *{name}")
        self.put(f"{name}->data", "sizeof(void *)")
        for what, modes in (("shapes", shapes), ("strides", strides)):
            for i, width in enumerate(modes):
                self.put(f"{name}->dynamic_{what}[{i}]", str(width // 8))


def _dynamic(modes: Sequence[Any]) -> list[int]:
    return [m["width"] for m in modes if isinstance(m, dict)]


def _one_width(name: str, widths: list[int]) -> int:
    if len(set(widths)) > 1:
        raise ArgumentError(
            f"tensor {name!r} has extents or strides of different widths", code="OC2147",
            expected="all of 32 or all of 64 bits", found=widths,
            hint="declare them with one of sym_int32 and sym_int64",
        )  # fmt: skip
    return widths[0]


def _c_type(name: str, dtype: str) -> str:
    found = _C_TYPES.get(dtype)
    if found is None:
        raise ArgumentError(
            f"argument {name!r} has a type that C lacks", code="OC2147", found=dtype
        )
    return found


def _lines(items: Sequence[str], between: str = "") -> str:
    return f"{between}\n    ".join(items)


def _results(results: Sequence[str]) -> Iterator[tuple[str, str]]:
    for i, dtype in enumerate(results):
        yield f"result_{i}", _c_type(f"result {i}", dtype)


def c_header(
    prefix: str, parameters: dict[str, dict[str, Any]], launches: int, results: Sequence[str] = ()
) -> str:
    """The header's text.

    Args:
        prefix: what every symbol begins with.
        parameters: the function's parameters; see `Parameters`.
        launches: how many kernels it launches.
        results: IR types of what it returns.

    Raises:
        ArgumentError: OC2147, an argument that C cannot pass.
    """
    args = _Arguments(prefix)
    for name, data in parameters.items():
        args.add(name, data)
    outputs = list(_results(results))
    signature = [f"{prefix}_Kernel_Module_t *module", *args.parameters]
    signature += [f"{type} *{name}" for name, type in outputs]
    slots = args.slot + len(outputs)
    body = [f"uint64_t slots[{slots}] = {{0}};"]
    body.append(f"slots[0] = (uint64_t)(uintptr_t){args.stream or '0'};")
    body += ["slots[1] = (uint64_t)(uintptr_t)module->functions;", *args.statements]
    body.append(f"int32_t status = {prefix}__host(slots);")
    for i, (name, _) in enumerate(outputs, args.slot):
        body.append(f"memcpy({name}, &slots[{i}], sizeof *{name});")
    body.append("return status;")
    guard = re.sub(r"\W", "_", prefix).upper() + "_OPENCUTE_H"
    types = "\n\n".join(args.types)
    return f"""/* Generated by OpenCuTe.
 * Calls return a CUresult of cuda.h: 0 is success, 1 an invalid value,
 * 200 to 222 a module that the device cannot load, 700 and above a kernel that failed. A call also
 * returns 0x40000000 plus the bytes asked for, where a block cannot have so much shared memory,
 * and 0x20000000 | map << 8 | what, where a tensor map of a TMA copy cannot be made: what is 0 for
 * an address that is no multiple of 16 bytes, 1 + i for an extent i (innermost first) that is not
 * between 1 and 2^32, 8 + i for a stride that is no multiple of 16 bytes below 2^40, 255 where the
 * driver refuses. */
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* The kernels on one device: a CUmodule, and its CUfunctions. */
typedef struct {{
    void *module;
    void *functions[{max(launches, 1)}];
}} {prefix}_Kernel_Module_t;

int32_t {prefix}_Kernel_Module_Load({prefix}_Kernel_Module_t *module);
int32_t {prefix}_Kernel_Module_Unload({prefix}_Kernel_Module_t *module);
int32_t {prefix}__host(uint64_t *slots);

{types}

static inline int32_t cute_dsl_{prefix}_wrapper(
    {_lines(signature, ",")}) {{
    {_lines(body)}
}}

#ifdef __cplusplus
}}
#endif

#endif /* {guard} */
"""
