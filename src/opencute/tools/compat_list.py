# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which published files `opencute compat` runs, and with which arguments.

A file runs with small sizes in the simulator and with its own sizes on a GPU. Nothing of the files
is kept here but their names.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXAMPLES", "Example"]

_ROOT = "examples/python/CuTeDSL"
_CUTE = f"{_ROOT}/cute"
_TESTS = "test/examples/CuTeDSL"


@dataclass(frozen=True)
class Example:
    """A published file and the arguments to run it with.

    Args:
        path: from the root of the copy; a file named ``test_*.py`` is run by pytest.
        arguments: on the GPU.
        small: in the simulator; as on the GPU when omitted.
        since: first compute capability times ten that it is written for.
        raises: what the error says that the file is written to end in; empty if it ends well.
    """

    path: str
    arguments: tuple[str, ...] = ()
    small: tuple[str, ...] | None = None
    since: int = 80
    raises: str = ""

    @property
    def name(self) -> str:
        """How the table shows it."""
        path = self.path.removeprefix(f"{_ROOT}/").removeprefix("test/examples/CuTeDSL/")
        return " ".join((path, *self.arguments))

    def arguments_for(self, target: str) -> tuple[str, ...]:
        """The arguments for ``"sim"`` or ``"gpu"``."""
        return self.small if target == "sim" and self.small is not None else self.arguments


def _words(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(text.split())


def _example(path: str, arguments: str = "", small: str | None = None, since: int = 80) -> Example:
    return Example(path, _words(arguments) or (), _words(small), since)


_AMPERE = f"{_CUTE}/ampere/kernel"
_ADD, _APPLY = (f"{_AMPERE}/elementwise/elementwise_{n}.py" for n in ("add", "apply"))
_TENSOROP = f"{_AMPERE}/dense_gemm/tensorop_gemm.py"
_FLASH = f"{_AMPERE}/attention/flash_attention_v2.py"
_HSTU = f"{_AMPERE}/attention/hstu_attention.py"
_NORM = f"{_CUTE}/hopper/kernel/cta_norm/cta_norm.py"
_SMALL = "--M 256 --N 512"
_SMALL_FLASH = (
    "--batch_size 1 --seqlen_q 128 --seqlen_k 192 --num_head 1 --head_dim 64 "
    "--warmup_iterations 0 --iterations 1"
)
_SMALL_HSTU = "--batch_size 1 --seqlen_q 64 --seqlen_kv 128 --num_head 1 --head_dim 64"
_SMALL_GEMM = "--mnkl 128,128,64,1 --warmup_iterations 0 --iterations 1"

_HOPPER = f"{_CUTE}/hopper/kernel"
_PROGRAMMATIC = f"{_ROOT}/dsl_tutorials"
_ONE_TMA = "--num_warmup 0 --num_iters 1"
_SINGLES = f"{_ROOT}/experimental/primitives"


def _hopper(path: str, arguments: str = "", small: str | None = None) -> Example:
    return _example(path, arguments, small, 90)


def _gemms() -> tuple[Example, ...]:
    """Dense and grouped products of Hopper's warpgroups."""
    plain, persistent, gelu, twice = (
        f"{_HOPPER}/dense_gemm/dense_gemm{n}.py"
        for n in ("", "_persistent", "_fp8_gelu_persistent", "_fp8_2xacc")
    )
    grouped = f"{_HOPPER}/grouped_gemm/grouped_gemm.py"
    majors = "--a_major m --b_major n --c_major m"
    bytes_ = "--a_dtype Int8 --b_dtype Int8 --acc_dtype Int32 --c_dtype Int32"
    f8 = "--a_dtype Float8E4M3FN --b_dtype Float8E5M2"
    cluster, wide = "--cluster_shape_mn", "--tile_shape_mn 128,256"
    published = "(8192,1280,32,1),(16,384,1536,1),(640,1280,16,1),(640,160,16,1)"
    groups = "--problem_sizes_mnkl (128,128,64,1),(64,256,128,1) --num_groups 2"
    many = f"--num_groups 4 --problem_sizes_mnkl {published}"
    return (
        _hopper(plain, f"--mnkl 8192,8192,8192,1 {wide}", f"--mnkl 128,256,64,1 {wide}"),
        _hopper(
            plain, f"--mnkl 2048,2048,1024,2 {cluster} 2,2 {majors}",
            f"--mnkl 256,256,64,1 {cluster} 2,2 {majors}",
        ),
        _hopper(plain, bytes_, f"--mnkl 128,128,128,1 {bytes_}"),
        _hopper(persistent, f"--mnkl 8192,8192,8192,1 {wide}", f"--mnkl 128,256,64,1 {wide}"),
        _hopper(persistent, f"{cluster} 2,1", f"--mnkl 256,128,64,2 {cluster} 2,1"),
        _hopper(persistent, f8, f"--mnkl 128,128,128,1 {f8}"),
        _hopper(twice, "--mnkl 2048,2048,2048,1", "--mnkl 128,256,256,1"),
        _hopper(
            gelu, f"--mnkl 8192,8192,8192,1 {wide} --scale_a 0.75 --scale_b 1.25",
            "--mnkl 128,128,128,1 --scale_a 0.75 --scale_b 1.25",
        ),
        _hopper(
            gelu, f"--gelu_kind poly11 {cluster} 1,2",
            f"--mnkl 128,256,128,1 --gelu_kind poly11 {cluster} 1,2",
        ),
        _hopper(grouped, f"{many} {wide}", groups),
        _hopper(
            grouped, f"{many} {wide} {cluster} 2,1 --tensormap_update_mode GMEM",
            f"{groups} {cluster} 2,1 --tensormap_update_mode GMEM",
        ),
    )  # fmt: skip


def _attention() -> tuple[Example, ...]:
    path = f"{_HOPPER}/attention/fmha.py"
    shapes, short = (f"--q_shape {s} --k_shape {s}" for s in ("4,1024,8,64", "1,128,1,64"))
    window = "--window_size 64,0 --bottom_right_align"
    return (
        _hopper(path, f"{shapes} --is_persistent", f"{short} --is_persistent"),
        _hopper(path, f"{shapes} --is_causal", f"{short} --is_causal"),
        _hopper(
            path, f"--q_shape 2,1024,8,128 --k_shape 2,2048,2,128 {window}",
            f"--q_shape 1,128,2,64 --k_shape 1,256,1,64 {window}",
        ),
        _hopper(
            path, "--q_shape 1,1000,4,128 --k_shape 1,1500,4,128",
            "--q_shape 1,100,1,64 --k_shape 1,150,1,64",
        ),
    )  # fmt: skip


def _hopper_tests() -> tuple[Example, ...]:
    grouped, twice, gelu = (
        f"{_TESTS}/hopper/test_{n}.py"
        for n in ("grouped_gemm", "dense_gemm_fp8_2xacc", "dense_gemm_fp8_gelu")
    )
    timed, sizes = ("-k", "not bench"), ("-p", "opencute.tools.compat_sizes")
    return (
        Example(grouped, (), None, 90),
        Example(twice, timed, (*timed, *sizes), 90),
        Example(gelu, (), sizes, 90),
        Example(f"{_TESTS}/sm_100a/test_rmsnorm.py", (), None, 90),
    )


EXAMPLES: tuple[Example, ...] = (
    *(
        _example(f"{_CUTE}/notebooks/{name}.ipynb")
        for name in (
            "hello_world", "print", "data_types", "tensor", "tensorssa", "composed_layout",
            "cute_layout_algebra", "elementwise_add", "cuda_graphs", "benchmark_autotune",
        )
    ),
    _example(_ADD),
    _example(_ADD, "--M 3 --N 12"),
    *(
        _example(_APPLY, f"--op {op}", f"--op {op} {_SMALL}") for op in ("add", "mul", "leaky_relu")
    ),
    _example(
        f"{_CUTE}/ampere/tutorial/elementwise_add_autotune.py", "", "--M 128 --N 128 --iterations 1"
    ),
    *(
        _example(f"{_ROOT}/dsl_tutorials/{name}.py")
        for name in (
            "torch_fake_tensor", "print_latex", "dataclass_immutable", "dynamic_smem_size",
            "smem_allocator", "cooperative_launch", "inline_ptx", "ffi/jit_argument",
            "call_from_jit", "call_bypass_dlpack",
        )
    ),
    *(
        _example(f"{_TESTS}/test_{name}.py")
        for name in ("dataclasses", "for_control_flow", "math", "tvm_ffi_env_stream")
    ),
    _example(
        f"{_AMPERE}/dense_gemm/sgemm.py", "--mnk 4096,4096,4096",
        "--mnk 256,256,64 --warmup_iterations 0 --iterations 1",
    ),
    _example(
        f"{_AMPERE}/dense_gemm/sgemm.py", "--mnk 1000,1000,100 --a_major k --b_major n --c_major m",
        "--mnk 130,136,24 --a_major k --b_major n --c_major m --warmup_iterations 0 --iterations 1",
    ),
    _example(_TENSOROP, "--mnkl 8192,8192,8192,1", _SMALL_GEMM),
    _example(
        _TENSOROP, "--mnkl 1024,1024,512,2 --a_major k --b_major k",
        f"{_SMALL_GEMM} --a_major k --b_major k",
    ),
    _example(
        _TENSOROP, "--mnkl 1024,1024,512,1 --ab_dtype BFloat16 --c_dtype BFloat16",
        f"{_SMALL_GEMM} --ab_dtype BFloat16 --c_dtype BFloat16",
    ),
    _example(_FLASH, "", _SMALL_FLASH),
    _example(_FLASH, "--is_causal", f"{_SMALL_FLASH} --is_causal"),
    _example(_FLASH, "--dtype Float16 --head_dim 64", f"{_SMALL_FLASH} --dtype Float16"),
    _example(_HSTU, "", _SMALL_HSTU),
    _example(_HSTU, "--is_causal", f"{_SMALL_HSTU} --is_causal"),
    _example(_NORM, "", "--M 16 --N 1024 --warmup_iterations 0 --iterations 1"),
    _example(
        _NORM, "--norm_type rms --dtype bf16",
        "--norm_type rms --dtype bf16 --M 16 --N 1024 --warmup_iterations 0 --iterations 1",
    ),
    *(
        _example(f"{_ROOT}/dsl_tutorials/tvm_ffi/{name}.py")
        for name in (
            "jit_and_use_in_torch", "compile_with_fake_tensor", "aot_export",
            "ampere_gemm_with_fake_tensor",
        )
    ),
    Example(f"{_ROOT}/dsl_tutorials/tvm_ffi/error_reporting.py", raises="mismatched a.shape[0]"),
    _example(f"{_ROOT}/dsl_tutorials/export/export_to_c.py"),
    _example(f"{_CUTE}/tvm_ffi/fp4_x2_tensor.py"),
    _hopper(f"{_PROGRAMMATIC}/launch_completion_and_programmatic_events.py"),
    _hopper(f"{_PROGRAMMATIC}/programmatic_dependent_launch.py"),
    _hopper(f"{_PROGRAMMATIC}/programmatic_dependent_launch.py", "--use_pdl"),
    _hopper(f"{_CUTE}/notebooks/async_pipeline.ipynb"),
    *(
        _hopper(f"{_CUTE}/blackwell/tutorial/tutorial_tma/tma_v{n}.py", "", _ONE_TMA)
        for n in range(3)
    ),
    _hopper(f"{_CUTE}/blackwell/kernel/rmsnorm/rmsnorm.py", "", "--M 16 --N 1024"),
    *_gemms(),
    *_attention(),
    *_hopper_tests(),
    *(
        _example(f"{_SINGLES}/{name}.py")
        for name in (
            "bar_warp_sync", "barrier_cta_red", "barrier_cta_sync", "basic_types",
            "cp_async_shared_global", "cp_async_shared_global_swizzled", "red",
            "reduction/block_smem_reduce", "reduction/thread_vector_reduce",
            "reduction/warp_vector_reduce", "redux_sync", "shfl_sync", "tutorial/01_hello_world",
            "tutorial/02_naive_gemm", "tutorial/03_gemm_tiled_smem", "tutorial/06_softmax",
            "tutorial/07_vectorized_array", "tutorial/08_mlir_value_tree_debug", "vote_sync",
        )
    ),
    _hopper(f"{_SINGLES}/tma/tma_load_to_ldmatrix.py", "--mode transpose"),
    *(
        _hopper(f"{_SINGLES}/{name}.py")
        for name in (
            "async_pipeline", "cp_async_bulk", "cp_async_bulk_prefetch",
            "cp_async_mbarrier_arrive_cluster", "cp_async_mbarrier_arrive_cta", "elect_sync",
            "ldmatrix_stmatrix", "mapa", "mbarrier", "mbarrier_lifecycle",
            "pipeline_software_fill", "reduction/cluster_smem_reduce", "tma/tma_1cta_mbarrier",
            "tma/tma_load_store", "tma/tma_load_to_ldmatrix", "tma/tma_pipeline_count2",
            "tma/tma_pipeline_pingpong", "tma/tma_pipeline_single_warp",
            "tma/tma_pipeline_warpspec", "tma/tma_store", "tma/tma_swizzle_modes",
            "tma/tma_tensormap_replace", "tutorial/04_tma_load", "tutorial/09_tma_4d_to_2d",
            "warp_named_barrier",
        )
    ),
)  # fmt: skip
