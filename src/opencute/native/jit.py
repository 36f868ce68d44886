# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR text to native functions of this process.

In: IR text and the addresses of what it calls. Out: a `HostModule`, whose functions live as long
as it does::

    module = compile_host("define i32 @inc(i32 %x) {\\n %r = add i32 %x, 1\\n ret i32 %r\\n}")
    inc = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(module.address("inc"))

``module.object_code`` is what a disk cache keeps; `load_object` brings it back without running
LLVM's code generator. Each module is a library of its own in one ORC JIT, so two modules may give
the same name to different addresses.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import struct
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from opencute.base.errors import ToolchainError
from opencute.native.target import (
    LOCK,
    Passes,
    host_description,
    host_target_machine,
    initialize,
    llvm_version,
    run_passes,
)
from opencute.native.text import parse_module

__all__ = ["HostModule", "compile_host", "load_object"]

_MAGIC = b"OCOBJ01\n"
_serial = itertools.count()
_engines: list[Any] = []


def _engine() -> Any:
    """The process's one ORC JIT; it outlives every module."""
    llvm = initialize()
    if not _engines:
        triple, cpu, features = host_description()
        # The JIT takes its target machine over, so it gets one that nobody else uses.
        machine = llvm.Target.from_triple(triple).create_target_machine(
            cpu=cpu, features=features, opt=2, reloc="pic", jit=True
        )
        _engines.append(
            llvm.create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)
        )
    return _engines[0]


class HostModule:
    """Native functions and the memory that holds them.

    Args:
        tracker: the JIT's handle of the linked library.
        exports: names of the functions and globals it defines.
        object_code: the module as bytes for `load_object`.
    """

    def __init__(self, tracker: Any, exports: tuple[str, ...], object_code: bytes) -> None:
        self._tracker = tracker
        self._addresses = {name: int(tracker[name]) for name in exports}
        self._close_once = threading.Lock()
        self.object_code = object_code

    @property
    def exports(self) -> tuple[str, ...]:
        """Names that `address` knows."""
        return tuple(self._addresses)

    def address(self, name: str) -> int:
        """The address of an exported function or global.

        Raises:
            ToolchainError: no such name, or the module is closed.
        """
        if self._tracker is None:
            raise ToolchainError("the host module is closed", code="OC1516")
        if name not in self._addresses:
            raise ToolchainError(
                f"the host module defines no symbol {name!r}",
                code="OC1516",
                expected=", ".join(self._addresses) or "nothing",
                found=name,
            )
        return self._addresses[name]

    def close(self) -> None:
        """Free the code now. Calling a function of a closed module is undefined."""
        with self._close_once:
            tracker, self._tracker = self._tracker, None
        if tracker is not None:
            with LOCK:
                tracker.close()

    def __enter__(self) -> HostModule:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def compile_host(
    ir_text: str,
    symbols: Mapping[str, int] | None = None,
    *,
    passes: Passes = "small",
    opt: int = 0,
) -> HostModule:
    """Compile LLVM IR text for this CPU and load it.

    Args:
        ir_text: the module.
        symbols: addresses of the functions and globals that it declares; what is not named here is
            looked up in the process (the C library, for example).
        passes: the pass list; "O3" vectorises loops.
        opt: level of the code generator, 0 to 3. Level 0 suits straight-line call glue: a small
            function takes about 2 ms to compile, against 4 ms and more at the other levels.

    Raises:
        ToolchainError: IR that LLVM rejects, or a declaration that nothing defines.
    """
    symbols = dict(symbols or {})
    llvm = initialize()
    with LOCK:
        machine = host_target_machine(opt)
        module = parse_module(ir_text, machine)
        run_passes(module, machine, passes)
        exports = _exports(module)
        _check_declarations(llvm, module, symbols)
        code = bytes(machine.emit_object(module))
        return _link(code, exports, symbols)


def load_object(data: bytes, symbols: Mapping[str, int] | None = None) -> HostModule:
    """Load what `HostModule.object_code` returned, in this or an earlier process.

    Raises:
        ToolchainError: the bytes are damaged or were made for another CPU or LLVM.
    """
    if data[: len(_MAGIC)] != _MAGIC or len(data) < len(_MAGIC) + 4:
        raise ToolchainError("these bytes are not host object code", code="OC1517")
    start = len(_MAGIC) + 4
    (size,) = struct.unpack_from("<I", data, len(_MAGIC))
    try:
        header = json.loads(data[start : start + size])
        made_for, exports = header["target"], tuple(header["exports"])
    except (ValueError, KeyError, TypeError) as e:
        raise ToolchainError(f"damaged host object code: {e}", code="OC1517") from None
    if made_for != _fingerprint():
        raise ToolchainError(
            "this object code was made for another machine or LLVM",
            code="OC1517",
            expected=_fingerprint(),
            found=made_for,
        )
    with LOCK:
        return _link(data[start + size :], exports, dict(symbols or {}))


def _fingerprint() -> list[str]:
    """What object code depends on besides the IR; a hash stands in for the long feature list."""
    triple, cpu, features = host_description()
    digest = hashlib.sha256(features.encode()).hexdigest()[:16]
    return [triple, cpu, digest, ".".join(map(str, llvm_version()))]


def _exports(module: Any) -> tuple[str, ...]:
    """Names of definitions that other modules may see."""
    local = ("private", "internal")
    return tuple(
        str(value.name)
        for values in (module.functions, module.global_variables)
        for value in values
        if not value.is_declaration and value.linkage.name not in local
    )


@lru_cache(maxsize=1)
def _mathematics() -> None:
    """Make C's mathematical library visible to LLVM; on Linux it is one of its own."""
    with suppress(RuntimeError):
        initialize().load_library_permanently("libm.so.6")


def _check_declarations(llvm: Any, module: Any, symbols: Mapping[str, int]) -> None:
    _mathematics()
    missing = [
        str(value.name)
        for values in (module.functions, module.global_variables)
        for value in values
        if value.is_declaration
        and value.name not in symbols
        and not value.name.startswith("llvm.")
        and llvm.address_of_symbol(value.name) is None
    ]
    if missing:
        raise ToolchainError(
            f"nothing defines {', '.join(missing)}",
            code="OC1514",
            hint="give its address in `symbols`",
        )


def _link(code: bytes, exports: tuple[str, ...], symbols: Mapping[str, int]) -> HostModule:
    llvm = initialize()
    engine = _engine()
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name, address in symbols.items():
        builder.import_symbol(name, address)
    for name in exports:
        builder.export_symbol(name)
    try:
        tracker = builder.link(engine, f"opencute.{next(_serial)}")
    except RuntimeError as e:
        raise ToolchainError(f"the host module cannot be linked: {e}", code="OC1514") from None
    header = json.dumps({"target": _fingerprint(), "exports": exports}).encode()
    data = _MAGIC + struct.pack("<I", len(header)) + header + code
    return HostModule(tracker, exports, data)
