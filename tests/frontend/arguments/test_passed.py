# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of kernels are of the kind that their parameters are annotated as."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_host
from opencute import cute
from opencute.base.errors import TypeMismatchError

pytestmark = pytest.mark.t0


def kernel(note: Any) -> Any:
    """A kernel with one parameter, annotated so, that does nothing."""

    def body(x):  # type: ignore[no-untyped-def]
        pass

    body.__annotations__["x"] = note
    return cute.kernel(body)


def passed(note: Any, argument: Any) -> None:
    """Launch a kernel with one argument, made of a tensor."""

    def body(t: Any) -> None:
        kernel(note)(argument(t)).launch(grid=1, block=1)

    on_host(body, np.zeros((4, 8), np.float32))


def atom(t: Any) -> Any:
    return cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)


def mma(t: Any) -> Any:
    return cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(cutlass.Float32))


ARGUMENTS: dict[str, Any] = {
    "tensor": lambda t: t, "pointer": lambda t: t.iterator, "number": lambda t: 3,
    "tuple": lambda t: t.shape, "text": lambda t: "a", "atom": atom, "mma": mma,
    "layout": lambda t: t.layout,
}  # fmt: skip
FITS: list[tuple[Any, set[str]]] = [
    (cute.Tensor, {"tensor"}),
    (cute.Pointer, {"pointer"}),
    (cutlass.Int32, {"number"}),
    (cutlass.Float32, {"number"}),
    (int, {"number"}),
    (cute.CopyAtom, {"atom"}),
    (cute.TiledMma, {"mma"}),
    (cute.Layout, {"layout", "tuple", "number"}),
    (cute.Tensor | None, {"tensor"}),
    (cutlass.Constexpr, set(ARGUMENTS)),
    (Any, set(ARGUMENTS)),
    (None, set(ARGUMENTS)),
    ("cute.Unknown", set(ARGUMENTS)),
]


@pytest.mark.parametrize("kind", ARGUMENTS)
@pytest.mark.parametrize(("note", "fit"), FITS, ids=[str(n) for n, _ in FITS])
def test_kinds(note: Any, fit: set[str], kind: str) -> None:
    if kind in fit:
        passed(note, ARGUMENTS[kind])
        return
    with pytest.raises(TypeMismatchError, match="OC1256") as e:
        passed(note, ARGUMENTS[kind])
    assert "argument 'x' of kernel 'body'" in str(e.value) and e.value.hint


@pytest.mark.parametrize("note", [cute.Tensor, cutlass.Int32, cute.CopyAtom])
def test_none_and_objects_of_the_users_pass(note: Any) -> None:
    passed(note, lambda t: None)

    class Own:
        pass

    passed(note, lambda t: Own())


def test_numbers_of_other_types_pass_but_no_float_for_an_integer() -> None:
    passed(cutlass.Float32, lambda t: 1)
    passed(cutlass.Int64, lambda t: cutlass.Int32(1))
    passed(cutlass.Int32, lambda t: True)
    passed(cutlass.Boolean, lambda t: 1)
    for wrong in (1.5, 2.0, cutlass.Float32(1)):
        with pytest.raises(TypeMismatchError, match="OC1256"):
            passed(cutlass.Int32, lambda t, wrong=wrong: wrong)


@pytest.mark.parametrize("smem", [1024.5, (1, 2), "1024", [16]])
def test_shared_memory_is_a_number_of_bytes(smem: Any) -> None:
    def body(t: Any) -> None:
        kernel(None)(t).launch(grid=1, block=1, smem=smem)

    with pytest.raises(TypeMismatchError, match="OC1254"):
        on_host(body, np.zeros(4, np.float32))
