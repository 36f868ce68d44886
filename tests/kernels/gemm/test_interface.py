# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products in the simulator (t1) and on a GPU (t2) against NumPy: types, majors, odd extents."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.base.knobs import KNOBS
from opencute.kernels.gemm import GemmConfig, gemm, reference
from opencute.kernels.gemm.visitors import chain

TYPES = {
    "f32": np.float32, "tf32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
}  # fmt: skip
SMALL = {
    "f32": GemmConfig((64, 64, 8), (2, 1), 3),
    "tf32": GemmConfig((64, 64, 16), (2, 2), 3),
    "f16": GemmConfig((64, 64, 32), (2, 2), 3),
    "bf16": GemmConfig((64, 64, 32), (2, 2), 3),
    "i8": GemmConfig((64, 64, 64), (2, 2), 3),
}
RELU = lambda x: np.maximum(x, 0)  # noqa: E731
pytestmark = pytest.mark.t1


@pytest.fixture(autouse=True)
def simulator() -> Any:
    with KNOBS.override(target="sim"):
        yield


def numbers(shape: tuple[int, ...], dtype: Any, major: int = -1, seed: int = 0) -> Any:
    """Small integers, so that sums are exact in any order; axis `major` contiguous."""
    x = np.random.default_rng([seed, *shape]).integers(-3, 4, shape).astype(dtype)
    return x if major == -1 else np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


def same(got: Any, want: Any) -> None:
    got = np.asarray(got)
    np.testing.assert_array_equal(*(x.astype(np.float64) for x in (got, want.astype(got.dtype))))


@pytest.mark.parametrize("majors", list(itertools.product((-1, -2), repeat=2)), ids=str)
@pytest.mark.parametrize("kind", TYPES)
def test_all_majors_ragged(kind: str, majors: tuple[int, int]) -> None:
    a, b = numbers((72, 80), TYPES[kind], majors[0]), numbers((80, 112), TYPES[kind], majors[1])
    same(gemm(a, b, tf32=kind == "tf32", config=SMALL[kind]), reference.gemm(a, b))


@pytest.mark.parametrize("kind", TYPES)
def test_whole_tiles_and_many_of_k(kind: str) -> None:
    a, b = numbers((128, 512), TYPES[kind]), numbers((512, 64), TYPES[kind])
    same(gemm(a, b, tf32=kind == "tf32", config=SMALL[kind]), reference.gemm(a, b))


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (65, 63, 33), (17, 2, 100)], ids=str)
@pytest.mark.parametrize("kind", ["f32", "f16", "i8"])
def test_extents_that_no_vector_divides(kind: str, m: int, n: int, k: int) -> None:
    a, b = numbers((m, k), TYPES[kind]), numbers((k, n), TYPES[kind], -2)
    same(gemm(a, b, config=SMALL[kind]), reference.gemm(a, b))


@pytest.mark.parametrize("out_major", [-1, -2])
@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_the_whole_epilogue(kind: str, out_major: int) -> None:
    dtype = TYPES[kind]
    a, b = numbers((72, 40), dtype), numbers((40, 104), dtype)
    c, r = numbers((72, 104), dtype, seed=1), numbers((72, 104), dtype, -2, seed=2)
    bias = numbers((104,), dtype, seed=3)
    out = numbers((72, 104), dtype, out_major)
    given: dict[str, Any] = {"alpha": 0.5, "beta": 2.0, "bias": bias, "residual": r}
    got = gemm(a, b, c, activation="relu", out=out, config=SMALL[kind], **given)
    want = reference.gemm(a, b, c, activation=RELU, **given)
    assert got is out
    same(got, want)


@pytest.mark.parametrize("out_major", [-1, -2])
def test_a_function_of_the_users_is_the_epilogue(out_major: int) -> None:
    a, b = numbers((64, 32), np.float16), numbers((32, 64), np.float16)
    out = numbers((64, 64), np.float32, out_major)
    square = lambda x: x * x + 1.0  # noqa: E731
    same(gemm(a, b, activation=square, out=out), reference.gemm(a, b, activation=square))


@pytest.mark.parametrize("name", ["gelu", "silu"])
def test_activations(name: str) -> None:
    a, b = (np.random.default_rng(i).standard_normal((40, 40), np.float32) for i in (1, 2))
    smooth = {
        "gelu": lambda x: x * 0.5 * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))),
        "silu": lambda x: x / (1 + np.exp(-x)),
    }
    got = gemm(a, b, activation=name, config=SMALL["f32"])
    np.testing.assert_allclose(got, reference.gemm(a, b, activation=smooth[name]), atol=2e-5)


@pytest.mark.parametrize("kind", ["f32", "f16"])
@pytest.mark.parametrize("shapes", [((3,), (3,)), ((), (2,)), ((2,), ())], ids=str)
def test_batches(kind: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a = numbers((*shapes[0], 40, 24), TYPES[kind])
    b = numbers((*shapes[1], 24, 72), TYPES[kind])
    same(gemm(a, b, config=SMALL[kind]), reference.gemm(a, b))


def test_views_with_strides_of_their_own() -> None:
    a, b = numbers((64, 96), np.float16)[:, 8:40], numbers((80, 64), np.float16)[:32]
    out = np.zeros((64, 100), np.float16)
    same(gemm(a, b, out=out[:, 3:67], config=SMALL["f16"]), reference.gemm(a, b))
    assert not out[:, :3].any() and not out[:, 67:].any()


def test_neither_rows_nor_columns_contiguous() -> None:
    a, b = numbers((64, 64), np.float32)[::2, ::2], numbers((32, 64), np.float32)
    same(gemm(a, b, config=SMALL["f32"]), reference.gemm(a, b))


def test_nothing_to_sum_and_nothing_to_do() -> None:
    c = numbers((8, 8), np.float32)
    same(gemm(numbers((8, 0), np.float32), numbers((0, 8), np.float32), c, beta=2.0), 2.0 * c)
    assert gemm(numbers((0, 4), np.float32), numbers((4, 8), np.float32)).shape == (0, 8)


def test_integers_stay_integers_and_can_be_scaled() -> None:
    a, b = np.full((32, 320), 127, np.int8), np.full((320, 32), 127, np.int8)
    assert (gemm(a, b) == 127 * 127 * 320).all()
    out = np.zeros((32, 32), np.float16)
    same(gemm(a, b, alpha=2.0**-12, out=out), np.full((32, 32), 1260.0))


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.randn(40, 32).half(), torch.randn(56, 32).half()
    got = gemm(a, b.T, config=SMALL["f16"])
    assert got.dtype == torch.float16
    torch.testing.assert_close(got.float(), a.float() @ b.T.float(), rtol=2e-3, atol=2e-3)


F32 = np.zeros((8, 8), np.float32)
F16 = np.zeros((8, 8), np.float16)
I32 = np.zeros((8, 8), np.int32)


@pytest.mark.parametrize(
    ("code", "args", "options"),
    [
        ("OC2536", (F32, F32), {"config": GemmConfig((48, 64, 8), (2, 1), 3)}),
        ("OC2536", (F32, F32), {"config": GemmConfig((64, 64, 8), (2, 1), 1)}),
        ("OC2536", (F16, F16), {"config": GemmConfig((256, 256, 32), (2, 2), 3)}),
        ("OC2511", (F16, F16), {"config": GemmConfig((128, 128, 256), (2, 2), 4)}),
        ("OC2512", (F32, F32), {"activation": "rely"}),
        ("OC2513", (F32, F32), {"out": np.zeros((16, 16), np.float32)[::2, ::2]}),
        ("OC2514", (F32[0], F32), {}),
        ("OC2515", (F32[:, :4], F32), {}),
        ("OC2515", (np.zeros((2, 8, 8)), np.zeros((3, 8, 8))), {}),
        ("OC2516", (F32, F16), {}),
        ("OC2516", (I32, I32), {}),
        ("OC2517", (F32, F32), {"out": F16}),
        ("OC2518", (F32, F32), {"out": F32[:4].copy()}),
        ("OC2518", (F32, F32, F16), {}),
        ("OC2519", (F32, F32), {"bias": F32}),
    ],
)
def test_what_does_not_fit_is_an_error(code: str, args: Any, options: Any) -> None:
    with pytest.raises(ArgumentError) as error:
        gemm(*args, **options)
    assert error.value.code == code


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"out": np.zeros((16, 8), np.float32)}, "swap its last two axes"),
        ({"out": np.zeros((8, 8), np.float32)}, "leave out away"),
        ({"c": np.zeros((8, 16), np.float16)}, "convert c"),
        ({"c": np.zeros(16, np.float32)}, "is bias"),
        ({"c": np.zeros((1, 16), np.float32)}, "broadcast c"),
    ],
)
def test_what_to_do_about_a_matrix_that_does_not_fit(options: Any, hint: str) -> None:
    a, b = np.zeros((8, 4), np.float32), np.zeros((4, 16), np.float32)
    with pytest.raises(ArgumentError, match="OC2518") as error:
        gemm(a, b, **options)
    assert hint in str(error.value.hint)


def test_messages_of_an_epilogue_say_what_to_write() -> None:
    with pytest.raises(ArgumentError, match="two of the same type of float32"):
        gemm(F32, F16)
    with pytest.raises(ArgumentTypeError, match=r"piece 0 .* a plain function; write apply\(fn\)"):
        chain(lambda x: x)
    with pytest.raises(ArgumentTypeError, match=r"chain\(add_columns\(bias\)\)"):
        gemm(F16, F16, epilogue=lambda x: x + F32[0])


def test_a_tensor_of_torch_in_an_epilogue_is_sent_to_visitors() -> None:
    torch = pytest.importorskip("torch")
    bias = torch.ones(F16.shape[-1])
    with pytest.raises(ArgumentTypeError, match=r"chain\(add_columns\(bias\)\)"):
        gemm(F16, F16, epilogue=lambda x: x + bias)


@pytest.mark.t2
@pytest.mark.parametrize("majors", list(itertools.product((-1, -2), repeat=3)), ids=str)
@pytest.mark.parametrize("kind", TYPES)
def test_on_a_gpu(kind: str, majors: tuple[int, int, int]) -> None:
    torch = pytest.importorskip("torch")
    for m, n, k in ((1024, 1024, 1024), (1000, 1032, 520), (333, 77, 129), (1, 4096, 4096)):
        a = numbers((m, k), TYPES[kind] if kind != "bf16" else np.float32, majors[0])
        b = numbers((k, n), a.dtype, majors[1])
        c = numbers((m, n), np.float32 if kind != "i8" else np.int32, majors[2])
        x, y, out = (
            torch.empty_strided(t.shape, [s // t.itemsize for s in t.strides],
                                dtype=torch.from_numpy(t).dtype).copy_(torch.from_numpy(t)).cuda()
            for t in (a, b, c)
        )  # fmt: skip
        if kind == "bf16":
            x, y = x.bfloat16(), y.bfloat16()
        with KNOBS.override(target="cuda"):
            gemm(x, y, out=out, tf32=kind == "tf32")
        same(out.cpu().numpy(), reference.gemm(a, b))
