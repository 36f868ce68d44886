# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of NVIDIA's libdevice as LLVM IR text, ready to be added to a module.

In: names such as ``__nv_expf``. Out: text that defines them as ``internal alwaysinline`` and
whatever they need. Each function is cut out of the library once per process: its callees are
inlined, ``__nvvm_reflect`` is answered (subnormals are kept, square roots are rounded), and it is
simplified by itself, so that a kernel pays only for parsing a few lines per function.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from opencute.codegen.toolchain import find_libdevice
from opencute.native.target import LOCK, initialize, nvptx_target_machine, run_passes

__all__ = ["libdevice_text"]

_REFLECT = re.compile(r"= (?:tail )?call i32 @__nvvm_reflect\(ptr [^@]*(@[\w.]+)\)[^\n]*")
_ANSWERS = {"__CUDA_FTZ": 0, "__CUDA_PREC_SQRT": 1, "__CUDA_PREC_DIV": 1, "__CUDA_ARCH": 800}
_NAME = re.compile(r"(?:@|%struct\.)[\w.$]+")
_COMMENT = re.compile(r"^;.*|\s*; preds = .*")
_GROUP = re.compile(r"(?<=[\w)])\s+#\d+(?=\s|$|,)")
_METADATA = re.compile(r", ![\w.]+ !\d+")


def libdevice_text(names: tuple[str, ...]) -> str:
    """Definitions of the functions `names`, with declarations and tables that they use."""
    parts: dict[str, None] = {}
    for name in names:
        for line in _function(name):
            parts[line] = None
    return "\n".join(parts)


@lru_cache(maxsize=1)
def _library() -> dict[str, Any]:
    """What the library defines and declares, by name; printing all of it would take a second."""
    path = find_libdevice()
    llvm = initialize()
    with LOCK:
        module: Any = llvm.parse_bitcode(path.read_bytes())
        symbols: dict[str, Any] = {f"@{f.name}": f for f in module.functions}
        symbols.update({f"@{g.name}": g for g in module.global_variables})
        symbols.update({f"%{t.name}": str(t) for t in module.struct_types if t.name})
        symbols[""] = module  # owns the others
    return symbols


def _clean(text: str) -> str:
    """A definition without comments, attribute groups, metadata; with reflection answered."""

    def answer(match: re.Match[str]) -> str:
        text = str(_library().get(match[1], ""))
        key = next((k for k in _ANSWERS if f'c"{k}\\00"' in text), "")
        return f"= add i32 {_ANSWERS.get(key, 0)}, 0"

    lines = [_COMMENT.sub("", line) for line in text.split("\n")]
    text = "\n".join(line for line in lines if line.strip())
    return _METADATA.sub("", _GROUP.sub("", _REFLECT.sub(answer, text)))


def _closure(name: str) -> list[str]:
    """Texts of a function and of all that it needs; the others are internal and to be inlined."""
    library = _library()
    texts: dict[str, str] = {}
    stack = [f"@{name}"]
    while stack:
        symbol = stack.pop()
        if symbol in texts or symbol not in library:
            continue
        text = texts[symbol] = _clean(str(library[symbol]))
        stack += _NAME.findall(text)
        if symbol != f"@{name}" and text.startswith("define "):
            texts[symbol] = _as_internal(text)
    # Types stand before their uses.
    return sorted(texts.values(), key=lambda text: not text.startswith("%"))


def _as_internal(text: str) -> str:
    if text.startswith("define internal"):
        return text  # a slow path that the library itself keeps apart
    text = text.replace("define ", "define internal ", 1)
    return re.sub(r"\) [^{\n]*\{$|\) \{$", ") alwaysinline {", text, count=1, flags=re.M)


@lru_cache(maxsize=256)
def _function(name: str) -> tuple[str, ...]:
    llvm = initialize()
    with LOCK:
        module: Any = llvm.parse_assembly("\n".join(_closure(name)))
        machine = nvptx_target_machine()
        module.triple, module.data_layout = str(machine.triple), str(machine.target_data)
        run_passes(module, machine, "O2")
        out = [str(t) for t in module.struct_types if t.name]
        out += [str(g).strip() for g in module.global_variables]
        for f in module.functions:
            body = _clean(str(f))
            out.append(body if f.is_declaration else _as_internal(body))
    return tuple(out)
