# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""``compiled.export_to_c``: a compiled function as an object file and a C header."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.compiler.artefacts import Artefacts
from opencute.jit.cuda_runner import dynamic_smem, has_wide_clusters
from opencute.jit.export.header import c_header
from opencute.jit.export.parameters import Parameters
from opencute.jit.export.text import object_text
from opencute.jit.export.tvm_ffi import entry_text, has_entry
from opencute.native.objects import emit_object, host_target
from opencute.runtime.aot.package import FORMAT, Package

__all__ = ["export"]


def export(
    request: Any,
    artefacts: Artefacts,
    file_path: Any,
    file_name: str | None = None,
    function_prefix: str | None = None,
) -> list[Path]:
    """Write the files of a compiled function.

    Args:
        request: what it was compiled for.
        artefacts: its stages.
        file_path: a folder; or the object file itself, when `file_name` is left out.
        file_name: the files' name without suffix.
        function_prefix: what symbols begin with; the file's name when omitted.

    Returns:
        The files: the object, and the header if a folder was given.

    Raises:
        ArgumentError: OC2147, the function has arguments that cannot be exported, or a prefix that
            C does not take.
    """
    place = Path(file_path)
    if file_name is None and place.suffix in (".o", ".obj"):
        folder, stem, with_header = place.parent, place.stem, False
    else:
        folder, stem, with_header = place, file_name or request.fn.symbol, True
        place = folder / f"{stem}.o"
    prefix = function_prefix or (request.fn.symbol if not with_header else stem)
    if not re.fullmatch(r"[A-Za-z_]\w*", prefix, re.ASCII):
        raise ArgumentError(
            "the function's prefix is no name in C", code="OC2147", found=prefix,
            hint="pass function_prefix=",
        )  # fmt: skip
    described = Parameters()
    static = request.fn.static_parameters
    parameters = {
        n: described.describe(spec, n) for n, spec in request.specs.items() if n not in static
    }
    parameters = {n: d for n, d in parameters.items() if d["kind"] != "static"}
    host = artefacts.host
    results = [d.name for d in request.returned.dtypes]
    header = {
        "format": FORMAT,
        "name": prefix,
        "symbol": host.name,
        "target": artefacts.target.name,
        "parameters": parameters,
        "results": results,
    }
    cubin = artefacts.cubin if host.launches else b""
    package = Package(header, artefacts.cute, host.llvm_ir, cubin)
    text = c_header(prefix, parameters, len(host.launches), results) if with_header else ""
    most = artefacts.target.max_smem
    smem = [dynamic_smem(artefacts.module, name, most) for name in host.launches]
    wide = [has_wide_clusters(artefacts.module, name) for name in host.launches]
    ir = object_text(prefix, host, package, smem, wide)
    if request.options.enable_tvm_ffi and has_entry(parameters):
        ir += entry_text(prefix, parameters, len(host.launches), results)
    code = emit_object(ir, host_target(request.options.host_target))
    folder.mkdir(parents=True, exist_ok=True)
    place.write_bytes(code)
    if not with_header:
        return [place]
    header_file = folder / f"{stem}.h"
    header_file.write_text(text, encoding="utf-8")
    return [place, header_file]
