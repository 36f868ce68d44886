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
)  # fmt: skip
