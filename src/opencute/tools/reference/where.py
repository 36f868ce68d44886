# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where a function or class is for: kernels, functions under @cute.jit, programs.

In: the module that defines it. Out: a sentence, or nothing where there is nothing to tell, as of
enumerations; a test calls one function of each module outside of compiled code to see::

    where_of("opencute.lang.block.warps")     # "In kernels."
"""

from __future__ import annotations

__all__ = ["ANYWHERE", "COMPILED", "KERNELS", "PYTHON", "where_of"]

KERNELS = "In kernels."
COMPILED = "In kernels and in functions under `@cute.jit`."
ANYWHERE = "In kernels, in functions under `@cute.jit`, and outside of compiled code."
PYTHON = "Outside of kernels."

_WHERE: dict[str, str] = {
    # one line each: the longest prefix counts
    "opencute.layout": ANYWHERE,
    "opencute.lang.algebra": ANYWHERE,
    "opencute.lang.numbers": ANYWHERE,
    "opencute.lang.mathfns": ANYWHERE,
    "opencute.lang.hints": ANYWHERE,
    "opencute.lang.hopper.image_masks": ANYWHERE,
    "opencute.lang.hopper.smem_layouts": ANYWHERE,
    "opencute.lang.hopper.operations": ANYWHERE,
    "opencute.lang.hopper.sparse": ANYWHERE,
    "opencute.lang.tiled.atoms": ANYWHERE,
    "opencute.lang.tiled.copying": ANYWHERE,
    "opencute.lang.tiled.multiplying": ANYWHERE,
    "opencute.lang.tiled.operations": ANYWHERE,
    "opencute.lang.tiled.sparse": ANYWHERE,
    "opencute.lib.hopper.operations": ANYWHERE,
    "opencute.lib.hopper.smem_layouts": ANYWHERE,
    "opencute.lib.layout_enum": ANYWHERE,
    "opencute.lib.latex": ANYWHERE,
    "opencute.lang.fills": COMPILED,
    "opencute.lang.tensors": COMPILED,
    "opencute.lang.printing": COMPILED,
    "opencute.lang.mlir.control": COMPILED,
    "opencute.lang.arch": KERNELS,
    "opencute.lang.asm.inline": KERNELS,
    "opencute.lang.block.access": KERNELS,
    "opencute.lang.block.arithmetic": KERNELS,
    "opencute.lang.block.atomics": KERNELS,
    "opencute.lang.block.barriers": KERNELS,
    "opencute.lang.block.registers": KERNELS,
    "opencute.lang.block.smem": KERNELS,
    "opencute.lang.block.warps": KERNELS,
    "opencute.lang.hopper.clusters": KERNELS,
    "opencute.lang.hopper.mbarriers": KERNELS,
    "opencute.lang.hopper.wgmma": KERNELS,
    "opencute.lang.tiled.calls": KERNELS,
    "opencute.lang.tiled.prefetching": KERNELS,
    "opencute.lib.named_barrier": KERNELS,
    "opencute.lib.pipelines.barriers": KERNELS,
    "opencute.lib.primitives.barriers": KERNELS,
    "opencute.lib.primitives.bulk": KERNELS,
    "opencute.lib.primitives.products": KERNELS,
    "opencute.lib.primitives.tiles": KERNELS,
    "opencute.lib.primitives.values": KERNELS,
    "opencute.lib.primitives.tensor_maps": COMPILED,
    "opencute.integrations": PYTHON,
    "opencute.jit.bench": PYTHON,
    "opencute.jit.calls": PYTHON,
    "opencute.jit.export": PYTHON,
    "opencute.jit.pool": PYTHON,
    "opencute.jit.streams": PYTHON,
    "opencute.lang.arguments.fakes": PYTHON,
    "opencute.lang.arguments.symbols": PYTHON,
    "opencute.lib.convert": PYTHON,
    "opencute.lib.init_arguments": PYTHON,
    "opencute.runtime.cuda_errors": PYTHON,
    "opencute.tune.decorator": PYTHON,
}


def where_of(module: str) -> str:
    """Where what a module defines is for; empty where nothing is said of it."""
    known = [m for m in _WHERE if module == m or module.startswith(m + ".")]
    return _WHERE[max(known, key=len)] if known else ""
