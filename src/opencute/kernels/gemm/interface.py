# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: products of torch or NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute import utils
from opencute.base.errors import ArgumentError
from opencute.base.interned import interned
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import (
    MOST_BLOCKS,
    element_name,
    empty,
    forwards,
    item_bits,
    portions,
    row_major,
    share_memory,
    strides,
    vector_elements,
    zeros,
)
from opencute.kernels.checked import checked, separate
from opencute.kernels.gemm.activations import activation_of
from opencute.kernels.gemm.config import GemmConfig, Problem, heuristic
from opencute.kernels.gemm.operands import (
    CLASSES,
    NARROW,
    Call,
    batched,
    check_result,
    compact,
    kind_of,
    repeats,
    shape_of,
    tensor_of,
    vector_of,
)
from opencute.kernels.gemm.rows.few import FewConfig, FewPlan, few_heuristic, few_product, few_room
from opencute.kernels.gemm.rows.gemv import GemvConfig, GemvPlan, gemv, gemv_heuristic
from opencute.kernels.gemm.sm80 import shared_tensor_core_gemm, tensor_core_gemm
from opencute.kernels.gemm.sm80_simt import sgemm, shared_sgemm
from opencute.kernels.gemm.sm90_interface import (
    choice,
    for_tma,
    have_hopper,
    on_hopper,
    pad_time,
    refuse,
    why_not,
)
from opencute.kernels.gemm.sm90_plan import HopperConfig
from opencute.kernels.gemm.visitors import (
    Operand,
    Visitor,
    asked_for,
    check_operand,
    check_pairs,
    usual,
)
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.tuned import tuned

__all__ = ["alone", "gemm", "problem_of", "separate_epilogue", "writable"]

_FEW = 40  # blocks that work, below which sharing by clusters is not enough
_FAR = 72e6  # bytes of which L2 holds next to nothing from the last time
# Rows of a product with a matrix whose rows begin anywhere: at most, and where Hopper's kernels are
# not faster, copies included.
_FEW_ROWS, _FEWER_ROWS = 64, 32
# Microseconds of a million operations, of 16 bits, and of a byte: of kernels that load single
# elements, and of Hopper's.
_SINGLE, _WHOLE = (1 / 250, 1 / 1e5), (1 / 700, 1 / 4e6)


@tuned("gemm", "a b out tf32")
@checked(arrays="a b", optional="c bias residual out", numbers="alpha beta")
@repeated
@separate(inplace="c residual")
def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    bias: Any = None,
    activation: str | Callable[[Any], Any] | None = None,
    residual: Any = None,
    out: Any = None,
    tf32: bool = False,
    epilogue: Visitor | Callable[..., Any] | None = None,
    config: GemmConfig | HopperConfig | GemvConfig | FewConfig | None = None,
) -> Any:
    """``activation(alpha * a @ b + beta * c + bias) + residual``.

    Args:
        a: array (M, K) or (L, M, K) of f32, f16, bf16, int8; on Hopper also of uint8, e4m3, e5m2.
        b: array (K, N) or (L, K, N) of the same type, or of the other of uint8 and int8, or of
            e4m3 and e5m2. One matrix serves a whole batch of the other.
        c, residual: arrays of the result's shape and type, or None.
        alpha, beta: where `alpha` is 0, neither `a` nor `b` is read, where `beta` is 0, `c` is
            not, as in BLAS: they may be full of NaN.
        bias: array (N,), or None.
        activation: "relu", "gelu", "silu", or a function on vectors of Float32.
        out: where the result goes; a new array when omitted, of the type of `a`, of int32, or of
            f32 where 8-bit floats are multiplied. On Hopper it may be of 8 bits: what does not
            fit becomes the nearest number that does.
        tf32: whether f32 is multiplied on tensor cores, rounded to 10 bits of mantissa.
        epilogue: what becomes of the sums, instead of all but `a`, `b` and `out`: a function on
            vectors of Float32, or, on Hopper, ``fn(x, tile)`` or a `Visitor`: see `visitors`.
        config: how the work is shared; a good choice when omitted. A `HopperConfig` asks for the
            kernel with TMA and `wgmma`, a `GemmConfig` for those of every processor, a
            `GemvConfig` for that of a matrix and a vector, a `FewConfig` for that of few rows
            which begin anywhere.

    Strides decide majors: rows or columns of each matrix may be contiguous, and views are fine.
    Where there are few tiles and much to sum, several blocks share a tile (`config.split`,
    `config.stream`); what they add up is added in the same order each time.

    Returns:
        The result. Sums are taken in f32; those of bytes in int32, and stay there where nothing is
        done to them. All that is added is added in f32, which is exact up to 2**24.

    Raises:
        ArgumentError: shapes or types do not fit, or the configuration does not.
    """
    shape = shape_of(a, b)
    kind = kind_of(a, b, tf32)
    alpha, beta = float(alpha), float(beta)  # NumPy's numbers compare to answers of their own
    result = shape
    if epilogue is not None:
        given = {"alpha": None if alpha == 1.0 else alpha, "c": c, "bias": bias}
        alone(given | {"activation": activation, "residual": residual})
        epilogue, activation = _visitor(epilogue, shape)
    if epilogue is not None and epilogue.gated is not None:
        result = (*shape[:-1], shape[-1] // 2)
    if out is None:
        names = {"i8": "int32", "f8": "float32"}
        out = empty(a, result, names.get(kind, a.dtype))
    check_result(result, kind, out, bias_shape=shape[-1:], c=c, residual=residual, bias=bias)
    activation = activation_of(activation)
    if 0 in shape:
        return out
    if c is not None and beta == 0.0:
        c = None  # which is not read, as in BLAS: it may be full of NaN
    if a.shape[-1] == 0 or (epilogue is None and alpha == 0.0):  # nor are a and b, then
        a, b = _nothing(a, b, 1 if config is None else max(int(a.shape[-1]), 1))
    call = Call.of(a, b, c, residual, out)
    if epilogue is None and len(result) == 3 and int(result[0]) > MOST_BLOCKS:
        _in_portions(
            (a, b, c, residual), out, alpha=alpha, beta=beta, bias=bias, activation=activation,
            tf32=tf32, config=config,
        )  # fmt: skip
        return out
    if epilogue is None:
        for kernel in (_few, _gemv):
            if kernel(call, kind, bias, activation, (alpha, beta), config):
                return out
    visitor = epilogue
    if visitor is None:
        visitor = usual(
            alpha=alpha, beta=beta, c=call.c, bias=bias, activation=activation,
            residual=call.residual,
        )  # fmt: skip
    else:
        separate_epilogue(visitor, a, b, out)
        visitor = _placed(visitor, call)
    only = epilogue is not None or kind == "f8" or element_name(out) in NARROW
    only = only or "uint8" in (element_name(a), element_name(b))
    if _hopper(call, visitor, kind, config, forced=only):
        return out
    assert not isinstance(config, (HopperConfig, GemvConfig, FewConfig))
    problem = call.problem(kind)
    smem = utils.get_smem_capacity_in_bytes()
    config = heuristic(problem, smem) if config is None else config
    config.check(problem.kind, problem.out_bits, smem)
    plan = interned(call.plan(config, kind, alpha != 1.0, activation))
    args = (*call.tensors(bias), alpha, beta)
    blocks = config.blocks(problem)
    if blocks == 0:
        (sgemm if kind == "f32" else tensor_core_gemm)(*args, plan)
        return out
    m, n, _ = config.tile
    sums = empty(a, (blocks, m * n), "int32" if kind == "i8" else "float32")
    flags = zeros(a, (blocks,), "int32")
    (shared_sgemm if kind == "f32" else shared_tensor_core_gemm)(*args, sums, flags, plan)
    return out


def _nothing(a: Any, b: Any, depth: int) -> tuple[Any, Any]:
    """Factors of a product that is 0, with majors as those have, which a configuration may need."""
    found: list[Any] = []
    for t, shape in ((a, (*a.shape[:-1], depth)), (b, (*b.shape[:-2], depth, b.shape[-1]))):
        if row_major(t):
            found.append(zeros(t, shape, t.dtype))
        else:
            turned = (*shape[:-2], shape[-1], shape[-2])
            found.append(zeros(t, turned, t.dtype).swapaxes(-1, -2))
    return found[0], found[1]


def _in_portions(matrices: tuple[Any, ...], out: Any, **rest: Any) -> None:
    """As many batches at a time as a grid has blocks along its last axis."""
    for part in portions(int(out.shape[0])):
        a, b, c, residual = [t if t is None or len(t.shape) < 3 else t[part] for t in matrices]
        gemm(a, b, c, residual=residual, out=out[part], **rest)


def _few(
    call: Call, kind: str, bias: Any, activation: Any, numbers: tuple[float, float], config: Any
) -> bool:
    """Do a product of few rows with a matrix whose rows begin anywhere, if this is one.

    Raises:
        ArgumentError: it is none, but asked for.
    """
    turned = call.b.shape[1] < call.a.shape[1]
    few, wide = (call.b, call.a) if turned else (call.a, call.b)
    good = (
        int(few.shape[1]) <= _FEW_ROWS and kind in ("f16", "bf16") and all(call.k_major)
        and element_name(call.d) in ("float16", "bfloat16", "float32")
    )  # fmt: skip
    if not good and isinstance(config, FewConfig):
        raise ArgumentError(
            "this is no product of few rows", code="OC2536", found=[few.shape, wide.shape],
            expected=f"at most {_FEW_ROWS}, and floats of 16 bits that are contiguous along k",
        )  # fmt: skip
    anywhere = min(vector_of(t, True) for t in (few, wide)) < 8
    if not good or (config is None and not anywhere):
        return False
    if config is None and int(few.shape[1]) > _FEWER_ROWS and have_hopper():
        return False
    if config is not None and not isinstance(config, FewConfig):
        return False
    batch, rows = int(call.d.shape[0]), int(few.shape[1])
    smem = utils.get_smem_capacity_in_bytes()
    config = config or few_heuristic(rows, int(wide.shape[1]), batch, smem)
    plan = interned(FewPlan(
        config, -(-rows // 16), CLASSES[kind], numbers[0] != 1.0, int(turned == call.swapped),
        activation, few_room(int(few.shape[2]), rows, smem),
    ).check(smem))  # fmt: skip
    others = [
        None if t is None else tensor_of(t.swapaxes(1, 2), 1) if turned else tensor_of(t, 2)
        for t in (call.c, call.residual, call.d)
    ]
    bias = None if bias is None else from_dlpack(bias).mark_layout_dynamic()
    few_product(
        tensor_of(few, 2), tensor_of(wide, 2), others[0], bias, *others[1:],
        *numbers, plan,
    )  # fmt: skip
    return True


def _gemv(
    call: Call, kind: str, bias: Any, activation: Any, numbers: tuple[float, float], config: Any
) -> bool:
    """Do a product with a vector, if this is one whose matrix is read along rows.

    Raises:
        ArgumentError: it is none, but asked for.
    """
    sides = (call.b, call.a) if call.a.shape[1] == 1 else (call.a, call.b)
    one = sides[0] is call.a
    flat = [
        None if t is None else t[:, :, 0] if one else t[:, 0]
        for t in (call.c, call.residual, call.d)
    ]
    good = (
        sides[1].shape[1] == 1 and not call.swapped and all(map(row_major, sides))
        and kind in ("f16", "bf16", "f32", "tf32") and all(t is None or row_major(t) for t in flat)
        and element_name(call.d) in ("float16", "bfloat16", "float32")
    )  # fmt: skip
    if not good and isinstance(config, GemvConfig):
        raise ArgumentError(
            "this is no product of rows with a vector", code="OC2536",
            found=[tuple(t.shape) for t in sides],
            expected="an extent of 1, and operands of floats that are contiguous along k",
        )  # fmt: skip
    if not good or (config is not None and not isinstance(config, GemvConfig)):
        return False
    # TMA asks for more of a large matrix at a time than threads do.
    size = int(sides[0].shape[0] * sides[0].shape[1] * sides[0].shape[2]) * item_bits(sides[0]) / 8
    if config is None and size > _FAR and kind in ("f16", "bf16") and have_hopper():
        if all(map(for_tma, sides)):
            return False
    matrix, vector = sides[0], sides[1][:, 0]
    k = int(matrix.shape[2])
    vec = vector_elements(k, item_bits(matrix), matrix, vector)
    config = config or gemv_heuristic(int(matrix.shape[1]), k, vec, int(matrix.shape[0]))
    c, residual, out = (None if t is None else tensor_of(t, 1) for t in flat)
    bias = None if bias is None else from_dlpack(bias).mark_layout_dynamic()
    plan = interned(GemvPlan(config.check(), vec, numbers[0] != 1.0, one, activation))
    gemv(
        tensor_of(matrix, 2), tensor_of(vector, 1), c, bias, residual, out,
        *numbers, plan,
    )  # fmt: skip
    return True


def _hopper(call: Call, visitor: Visitor, kind: str, config: Any, *, forced: bool) -> bool:
    """Do a product with Hopper's kernel, if that is possible and good.

    Args:
        forced: whether there is no other kernel for it.

    Raises:
        ArgumentError: it is not possible, but asked for.
    """
    forced = forced or isinstance(config, HopperConfig)
    if kind == "f32" or (isinstance(config, GemmConfig) and not forced):
        reason = "f32 is not multiplied without tf32=True" if forced else "another is asked for"
    elif not have_hopper():
        reason = "this processor has none"
    else:
        used = [o.value for o in visitor.operands.values() if o.kind in ("load", "store")]
        reason = why_not(call.a, call.b, [call.d, *used], kind)
    tiles = config if isinstance(config, HopperConfig) else None
    if not reason and tiles is None:
        tiles = choice(call.a, call.b, call.d, visitor, kind)
        # Where tiles are very few and sums long, the other kernel shares them among more blocks.
        problem = call.problem(kind)
        few = tiles.busy(problem.m, problem.n, problem.batch) < _FEW
        if few and not forced:
            if heuristic(problem, utils.get_smem_capacity_in_bytes()).split > 1:
                reason = "there are few tiles"
        # What TMA cannot read is copied, if that is less than what it gains.
        work = 2e-6 * problem.m * problem.n * problem.k * problem.batch
        size = sum(int(t.shape[0] * t.shape[1] * t.shape[2]) * item_bits(t) / 8
                   for t in (call.a, call.b))  # fmt: skip
        single, whole = (max(work * w, size * s) for w, s in (_SINGLE, _WHOLE))
        if not forced and pad_time(call.a, call.b) + whole > single:
            reason = "copies of operands take too long"
    if reason and forced:
        raise refuse(reason)
    if reason:
        return False
    on_hopper(call.a, call.b, call.d, visitor, kind=kind, swapped=call.swapped, config=tiles)
    return True


def alone(others: dict[str, Any]) -> None:
    """Raise if an epilogue is not all there is to do."""
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise ArgumentError(
            "an epilogue is instead of other things that are done to the sums", code="OC2540",
            found=", ".join(given), hint="pieces such as visitors.add(c) do the same",
        )  # fmt: skip


def _visitor(epilogue: Any, shape: tuple[int, ...]) -> tuple[Visitor | None, Any]:
    """The visitor that is asked for, or, of a function of sums alone, an activation, which every
    processor has; raise if it is neither, or its matrices do not fit."""
    visitor = asked_for("gemm", epilogue)
    if visitor is None:
        return None, epilogue
    wanted = {"row": shape[-2:-1], "column": shape[-1:], "amax": (1,), "load": shape,
              "store": shape}  # fmt: skip
    for name, operand in visitor.operands.items():
        want = wanted.get(operand.kind)
        if want is None:  # a number
            continue
        check_operand(name, operand, str(want))
        if tuple(operand.value.shape) != want:
            raise ArgumentError(
                f"{name} does not fit the product", code="OC2540", expected=want,
                found=tuple(operand.value.shape),
            )  # fmt: skip
    if visitor.gated is not None:
        check_pairs(shape[-1])
    return visitor, None


def _placed(epilogue: Visitor, call: Call) -> Visitor:
    """A visitor whose matrices are (batch, rows, columns) and transposed as the product is."""
    if epilogue.gated is not None and call.swapped:
        raise ArgumentError(
            "results of pairs of columns are stored row by row", code="OC2540",
            expected="a row-major out", found="a column-major one",
        )  # fmt: skip
    placed: dict[str, Operand] = {}
    for name, operand in epilogue.operands.items():
        value = operand.value
        if operand.kind in ("row", "column", "load") and hasattr(value, "ctypes"):
            value = forwards(name, value)
        if operand.kind in ("load", "store"):
            value = batched(value, call.d.shape[0])
            value = value.swapaxes(1, 2) if call.swapped else value
            if operand.kind == "store":
                writable(name, value, operand.value)
            elif repeats(value) or not row_major(value):
                value = compact(value)
        placed[name] = Operand(operand.kind, value)
    return epilogue.given(placed)


def separate_epilogue(epilogue: Visitor, a: Any, b: Any, out: Any) -> None:
    """Refuse an epilogue that writes what the product reads, or writes elsewhere. It may read the
    elements in whose place it, or the product, writes.

    Raises:
        ArgumentError: it does.
    """
    places = [("a", a, "load"), ("b", b, "load"), ("out", out, "store")]
    places += [(n, o.value, o.kind) for n, o in epilogue.operands.items() if o.kind != "scalar"]
    for i, (name, mine, how) in enumerate(places):
        for j, (other, array, kind) in enumerate(places):
            if i == j or how not in ("store", "amax"):
                continue
            same = share_memory(mine, array)
            if same or (same is None and (kind != "load" or j < 2)):
                raise ArgumentError(
                    f"{name} shares memory with {other}, which the product reads or writes",
                    code="OC2542", expected="other memory",
                )  # fmt: skip


def writable(name: str, placed: Any, given: Any) -> None:
    """Check that TMA can store to a matrix of an epilogue as it does to the result.

    Args:
        placed: the matrix, transposed as the product is.
        given: the matrix as it was given.

    Raises:
        ArgumentError: it cannot.
    """
    if repeats(placed) or repeats(placed.swapaxes(0, 2)):
        raise ArgumentError(
            f"elements of {name}, which is written, are at the same place", code="OC2540",
            expected="a matrix", found=strides(given),
        )  # fmt: skip
    if not row_major(placed) or any(s < 0 for s in strides(placed)):
        raise ArgumentError(
            f"{name}, which is written, lies in another order than the result", code="OC2540",
            expected="rows that are contiguous, or columns, as those of out",
            found=f"strides {strides(given)}", hint="pass an array that lies as out does",
        )  # fmt: skip


def problem_of(a: Any, b: Any, out: Any, *, tf32: bool = False) -> Problem:
    """What `gemm` is asked to do, as `heuristic` and `search_space` want it."""
    shape_of(a, b)
    return Call.of(a, b, None, None, out).problem(kind_of(a, b, tf32))
