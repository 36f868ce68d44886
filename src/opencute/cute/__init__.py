# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.cute`: layouts, tensors, copies, kernels."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

_ALGEBRA = "opencute.lang.algebra"
_LAYOUT = "opencute.layout"
_TENSORS = "opencute.lang.tensors"
_FILLS = "opencute.lang.fills"
_VECTORS = "opencute.lang.vectors"
_CALLS = "opencute.lang.tiled.calls"
_COPYING = "opencute.lang.tiled.copying"
_MATH = "opencute.lang.mathfns"
_OPTIONS = "opencute.compiler.options"
_TYPING = "opencute.lang.typing"

TABLE = {
    **{
        name: _ALGEBRA
        for name in (
            "append", "append_ones", "assume", "blocked_product", "ceil_div", "coalesce",
            "complement", "composition", "cosize", "crd2idx", "depth", "dice", "domain_offset",
            "elem_less", "filter", "filter_zeros", "flat_divide", "flat_product", "flatten",
            "front", "get",
            "group_modes", "idx2crd", "is_static", "left_inverse", "local_partition",
            "local_tile", "logical_divide", "logical_product", "make_composed_layout",
            "make_layout", "max_common_layout", "max_common_vector", "prepend", "prepend_ones",
            "raked_product", "rank", "recast_ptr", "recast_tensor", "right_inverse", "round_up",
            "select", "shape", "shape_div", "size", "size_in_bytes", "slice_",
            "slice_and_offset", "tile_to_shape", "tiled_divide", "tiled_product",
            "zipped_divide", "zipped_product",
        )
    },
    **{
        name: _LAYOUT
        for name in (
            "ComposedLayout", "E", "Layout", "ScaledBasis", "Swizzle",
            "basis_get", "basis_value", "congruent", "coshape", "find", "find_if",
            "flatten_to_tuple", "has_none", "increment_coord", "inner_product", "insert",
            "is_compatible", "make_identity_layout", "make_layout_like", "make_layout_tv",
            "make_ordered_layout", "make_swizzle", "nullspace", "prefix_product",
            "product", "product_each", "product_like", "recast_layout",
            "repeat", "repeat_like", "replace", "transform_leaf", "tuple_max", "unwrap",
            "weakly_congruent", "with_shape", "wrap",
        )
    },
    "make_layout_image_mask": "opencute.lang.hopper.image_masks",
    **{
        name: _TENSORS
        for name in (
            "Tensor", "make_fragment_like", "make_identity_tensor", "make_rmem_tensor",
            "make_rmem_tensor_like", "make_tensor",
        )
    },
    **{
        name: _VECTORS
        for name in ("ReductionOp", "TensorSSA", "where")
    },
    **{
        name: _FILLS
        for name in (
            "all_", "any_", "empty_like", "full", "full_like", "ones_like", "zeros_like",
        )
    },
    **{
        name: _CALLS
        for name in (
            "autovec_copy", "basic_copy", "basic_copy_if", "copy", "copy_atom_call", "gemm",
            "mma_atom_call",
        )
    },
    **{
        name: _COPYING
        for name in (
            "ThrCopy", "TiledCopy", "make_cotiled_copy", "make_tiled_copy", "make_tiled_copy_A",
            "make_tiled_copy_B", "make_tiled_copy_C", "make_tiled_copy_C_atom",
            "make_tiled_copy_D", "make_tiled_copy_S", "make_tiled_copy_tv",
        )
    },
    **{
        name: _MATH
        for name in (
            "acos", "asin", "atan", "atan2", "cos", "erf", "exp", "exp2", "log", "log10", "log2",
            "rsqrt", "sin", "sqrt", "tan", "tanh",
        )
    },
    **{
        name: _OPTIONS
        for name in (
            "DumpDir", "EnableAssertions", "EnableTVMFFI", "FrontendNext", "GPUArch",
            "GenerateLineInfo", "HostTarget", "Iket", "KeepCUBIN", "KeepIR", "KeepPTX", "KeepSASS",
            "NvdisasmOptions", "OptLevel", "PtxasOptions",
        )
    },
    **{
        name: _TYPING
        for name in ("Coord", "Int", "IntTuple", "Shape", "Stride", "Tile", "Tiler", "XTuple")
    },
    **{
        name: "opencute.lang.numbers"
        for name in (
            "BFloat16", "Boolean", "Float16", "Float32", "Float4E2M1FN", "Float64",
            "Float8E4M3FN", "Float8E5M2", "Float8E8M0FNU", "Int16", "Int32", "Int4", "Int64",
            "Int8", "Integer", "TFloat32", "Uint16", "Uint32", "Uint4", "Uint64", "Uint8",
        )
    },
    **{
        name: "opencute.lang.arguments.symbols"
        for name in ("SymInt", "sym_int", "sym_int32", "sym_int64")
    },
    "AddressSpace": "opencute.lang.pointers",
    "CopyAtom": "opencute.lang.tiled.atoms",
    "FastDivmodDivisor": "opencute.lang.values.fast_divmod",
    "MmaAtom": "opencute.lang.tiled.atoms",
    "Numeric": "opencute.lang.numbers",
    "Pointer": "opencute.lang.pointers",
    "ThrMma": "opencute.lang.tiled.multiplying",
    "TiledMma": "opencute.lang.tiled.multiplying",
    "arch": "opencute.cute.arch:",
    "compile": "opencute.jit.calls",
    "core": "opencute.cute.core:",
    "compile_many": "opencute.jit.pool",
    "extern": "opencute.lang.asm.extern",
    "fast_divmod_create_divisor": "opencute.lang.values.fast_divmod",
    "jit": "opencute.jit.functions",
    "kernel": "opencute.jit.functions",
    "make_copy_atom": "opencute.lang.tiled.atoms",
    "make_fragment": "opencute.lang.tensors:make_rmem_tensor",
    "make_mma_atom": "opencute.lang.tiled.atoms",
    "make_ptr": "opencute.lang.external_pointers",
    "make_tiled_mma": "opencute.lang.tiled.multiplying",
    "math": "opencute.cute.math:",
    "native_struct": "opencute.lang.records.native",
    "nvgpu": "opencute.cute.nvgpu:",
    "prefetch": "opencute.lang.tiled.prefetching",
    "print_tensor": "opencute.lang.printing",
    "printf": "opencute.lang.printing",
    "runtime": "opencute.cute.runtime:",
    "struct": "opencute.lang.block.structs",
    "testing": "opencute.cute.testing:",
    "typing": "opencute.cute.typing:",
    "union": "opencute.lang.block.structs",
}  # fmt: skip

_RENAMED = {
    "arange": "cute.make_identity_tensor(shape), whose elements are their coordinates",
    "atomic_add": "cute.arch.atomic_add",
    "barrier": "cute.arch.sync_threads",
    "blockDim": "cute.arch.block_dim",
    "blockIdx": "cute.arch.block_idx",
    "block_dim": "cute.arch.block_dim",
    "block_idx": "cute.arch.block_idx",
    "cdiv": "cute.ceil_div",
    "cp_async_commit_group": "cute.arch.cp_async_commit_group",
    "cp_async_wait": "cute.arch.cp_async_wait_group",
    "cp_async_wait_group": "cute.arch.cp_async_wait_group",
    "dot": "cute.gemm of fragments, by a tiled MMA",
    "from_dlpack": "cute.runtime.from_dlpack",
    "gridDim": "cute.arch.grid_dim",
    "grid_dim": "cute.arch.grid_dim",
    "load": "x[i] of a tensor, x.load() of a tile, or cute.arch.load for one instruction",
    "make_reg_tensor": "cute.make_rmem_tensor",
    "make_smem_tensor": "allocate_tensor of utils.SmemAllocator",
    "matmul": "cute.gemm of fragments, by a tiled MMA",
    "max": "cute.math.max",
    "maximum": "cute.math.max",
    "min": "cute.math.min",
    "minimum": "cute.math.min",
    "num_programs": "cute.arch.grid_dim",
    "print": "cute.printf",
    "program_id": "cute.arch.block_idx",
    "store": "x[i] = v of a tensor, x.store(v) of a tile, or cute.arch.store for one instruction",
    "sum": "x.load().reduce(cute.ReductionOp.ADD, 0.0, 0), or cute.arch.warp_reduction_sum",
    "sync_threads": "cute.arch.sync_threads",
    "syncthreads": "cute.arch.sync_threads",
    "threadIdx": "cute.arch.thread_idx",
    "thread_idx": "cute.arch.thread_idx",
    "zeros": "cute.full(shape, 0.0), or cute.make_rmem_tensor(shape, dtype) and fill",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, TABLE, _RENAMED)
