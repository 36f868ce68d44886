# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.copy(..., unroll_factor=)` (NVIDIA/cutlass 2856): a loop instead of many instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import cpasync
from opencute.cute.runtime import from_dlpack

ROWS = 44


@cute.kernel
def through_kernel(t: cute.Tensor, out: cute.Tensor, factor: cutlass.Constexpr):
    tid, _, _ = cute.arch.thread_idx()
    op = cpasync.CopyG2SOp(cute.nvgpu.LoadCacheMode.GLOBAL)
    atom = cute.make_copy_atom(op, t.element_type, num_bits_per_copy=128)
    copy = cute.make_tiled_copy_tv(
        atom, cute.make_layout((2, 16), stride=(16, 1)), cute.make_layout((1, 4))
    )
    smem = cutlass.utils.SmemAllocator().allocate_tensor(
        t.element_type, cute.make_layout((ROWS, 64), stride=(64, 1)), 16
    )
    mine = copy.get_slice(tid)
    cute.copy(copy, mine.partition_S(t), mine.partition_D(smem), unroll_factor=factor)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    plain = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), t.element_type, num_bits_per_copy=128)
    back = cute.make_tiled_copy_tv(
        plain, cute.make_layout((2, 16), stride=(16, 1)), cute.make_layout((1, 4))
    ).get_slice(tid)
    cute.copy(back, back.partition_S(smem), back.partition_D(out), unroll_factor=factor)


@cute.jit
def through(t: cute.Tensor, out: cute.Tensor, factor: cutlass.Constexpr):
    through_kernel(t, out, factor).launch(grid=1, block=32)


def arguments(dynamic: bool = False) -> tuple[Any, Any, Any, Any]:
    x = np.arange(ROWS * 64, dtype=np.float32).reshape(ROWS, 64)
    out = np.zeros_like(x)
    return x, out, from_dlpack(x, assumed_align=16), from_dlpack(out, assumed_align=16)


@pytest.mark.t0
@pytest.mark.parametrize("factor", [None, 1, 3, 4, 22, 100])
def test_every_factor_copies_all(factor: Any) -> None:
    x, out, t, o = arguments()
    with KNOBS.override(target="sim", sim_check=True):
        through(t, o, factor)
    assert np.array_equal(out, x)


@pytest.mark.t1
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_code_is_as_long_as_the_factor_says(arch: str) -> None:
    counts: dict[Any, int] = {}
    for factor in (None, 4):
        _, _, t, o = arguments()
        code = cute.compile(through, t, o, factor, options=f"--gpu-arch {arch}")
        counts[factor] = code.__ptx__.count("cp.async.cg")
        assert "LDL" not in code.__sass__ and "LDGSTS" in code.__sass__
    assert counts == {None: 22, 4: 6}  # 22 uses: five turns of four, and two more


@pytest.mark.t0
def test_registers_take_part_in_no_loop() -> None:
    @cute.kernel
    def kernel(t: cute.Tensor):
        fragment = cute.make_fragment_like(t)
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), t.element_type)
        cute.copy(atom, t, fragment, unroll_factor=1)
        t[0] = fragment[7]

    @cute.jit
    def host(t: cute.Tensor):
        kernel(t).launch(grid=1, block=1)

    x = np.arange(8, dtype=np.float32)
    with KNOBS.override(target="sim"):
        compiled = cute.compile(host, from_dlpack(x))
        compiled(from_dlpack(x))
    assert x[0] == 7 and "scf.for" not in compiled.__mlir__


@pytest.mark.t0
@pytest.mark.parametrize("factor", [0, -1, 2.0, "2", True])
def test_wrong_factors(factor: Any) -> None:
    _, _, t, o = arguments()
    with KNOBS.override(target="sim"), pytest.raises(TypeMismatchError) as e:
        through(t, o, factor)
    assert e.value.code == "OC1615" and e.value.loc is not None


@pytest.mark.t0
@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda a, t, f: cute.copy(a, t, f, prd=None), "did you mean pred?"),
        (lambda a, t, f: cute.copy(a, t, f, unroll=2), "did you mean unroll_factor?"),
        (lambda a, t, f: cute.copy(a, t, f, mcast_msk=2), "did you mean mcast_mask?"),
        (lambda a, t, f: cute.copy_atom_call(a, t, f, foo=2), "no argument 'foo'"),
        (lambda a, t, f: cute.autovec_copy(t, f, pred=f), "no argument 'pred'"),
        (lambda a, t, f: cute.gemm(a, t, t, t, t, foo=3), "no argument 'foo'"),
        (
            lambda a, t, f: cute.make_copy_atom(a.op, t.element_type, num_bits_per_cpy=128),
            "did you mean num_bits_per_copy?",
        ),
    ],
)
def test_keywords_that_there_are_not(call: Any, says: str) -> None:
    """None of them is passed over in silence, least of all a misspelt predicate."""

    @cute.kernel
    def kernel(t: cute.Tensor):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), t.element_type)
        call(atom, t, cute.make_fragment_like(t))

    @cute.jit
    def host(t: cute.Tensor):
        kernel(t).launch(grid=1, block=1)

    with KNOBS.override(target="sim"), pytest.raises(TypeMismatchError, match="no argument") as e:
        host(from_dlpack(np.zeros(8, np.float32)))
    assert e.value.code == "OC1267" and says in str(e.value)
