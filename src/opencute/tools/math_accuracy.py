# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The accuracy of `cute.math` in ulp, against mpmath.

``python -m opencute.tools.math_accuracy`` prints the table as Markdown;
``docs/reference/math_accuracy.md`` is a copy. What a GPU may do is stated by
`opencute.arch.mathfns`, and asserted on a GPU by the tests; what the simulator does is measured
here, on the machine that makes the table::

    measured("exp", "f32", "sim")      # 0.5 (to the last digit: correctly rounded)
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportMissingTypeStubs=false
# mpmath has no annotations, and NumPy's leave much of what narrow types do unknown.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opencute import cute
from opencute.arch.mathfns import MathFn, math_fn
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.cute.typing import Constexpr
from opencute.numeric.dtypes import DTYPES

__all__ = [
    "COMPOSED", "FUNCTIONS", "TYPES", "bound_of", "composed_row", "errors", "inputs", "markdown",
    "measured", "oracle",
]  # fmt: skip

TYPES = ("f64", "f32", "f16", "bf16")
LENGTH = 512

# name: (operation, lowest and highest argument)
FUNCTIONS: dict[str, tuple[str, float, float]] = {
    "absf": ("math.absf", -8, 8),
    "acos": ("math.acos", -1, 1),
    "acosh": ("math.acosh", 1, 1e4),
    "asin": ("math.asin", -1, 1),
    "asinh": ("math.asinh", -1e4, 1e4),
    "atan": ("math.atan", -8, 8),
    "atan2": ("math.atan2", -8, 8),
    "atanh": ("math.atanh", -0.99, 0.99),
    "cbrt": ("math.cbrt", -1e4, 1e4),
    "ceil": ("math.ceil", -1e3, 1e3),
    "copysign": ("math.copysign", -8, 8),
    "cos": ("math.cos", -8, 8),
    "cosh": ("math.cosh", -8, 8),
    "erf": ("math.erf", -4, 4),
    "erfc": ("math.erfc", -3, 3),
    "exp": ("math.exp", -8, 8),
    "exp2": ("math.exp2", -12, 12),
    "expm1": ("math.expm1", -8, 8),
    "floor": ("math.floor", -1e3, 1e3),
    "fmod": ("arith.remf", 0.1, 50),
    "log": ("math.log", 1e-3, 1e4),
    "log10": ("math.log10", 1e-3, 1e4),
    "log1p": ("math.log1p", -0.9, 1e3),
    "log2": ("math.log2", 1e-3, 1e4),
    "pow": ("math.powf", 0.1, 4),
    "rcp": ("arith.divf", 0.01, 100),
    "round": ("math.roundeven", -1e3, 1e3),
    "rsqrt": ("math.rsqrt", 1e-3, 1e4),
    "sin": ("math.sin", -8, 8),
    "sinh": ("math.sinh", -8, 8),
    "sqrt": ("math.sqrt", 0, 6e4),
    "tan": ("math.tan", -1.4, 1.4),
    "tanh": ("math.tanh", -8, 8),
    "trunc": ("math.trunc", -1e3, 1e3),
}
# Made of others: lowest and highest argument, bound for types of at least 32 bits. What an argument
# is off is magnified by gelu far below 0, as the slope of the logarithm of erfc grows.
COMPOSED: dict[str, tuple[float, float, float]] = {
    "gelu": (-4, 4, 32),
    "relu": (-8, 8, 0),
    "sigmoid": (-8, 8, 4),
    "silu": (-8, 8, 4),
}
_SECOND = {"atan2": (-8.0, 8.0), "copysign": (-8.0, 8.0), "fmod": (0.5, 9.0), "pow": (-4.0, 4.0)}
# On a GPU these bounds are absolute errors near 0 (PTX ISA: sin, cos, lg2 and tanh, approx).
ABSOLUTE = ("sin", "cos", "tan", "log", "log2", "log10", "tanh")


def inputs(name: str, type: str, length: int = LENGTH) -> list[Any]:
    """Arguments: one array, or two."""
    low, high = COMPOSED[name][:2] if name in COMPOSED else FUNCTIONS[name][1:]
    dtype = DTYPES[type].numpy_dtype
    rng = np.random.default_rng(7)
    # No subnormal f16: their ulp is that of the smallest number.
    ranges = [(low, high), *([_SECOND[name]] if name in _SECOND else [])]
    return [rng.uniform(a, b, length).astype(dtype) for a, b in ranges]


def oracle(name: str) -> Callable[..., Any]:
    """The function of mpmath numbers, at the precision that is set."""
    import mpmath as mp

    special: dict[str, Callable[..., Any]] = {
        "absf": abs,
        "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
        "copysign": lambda a, b: abs(a) if b >= 0 else -abs(a),
        "exp2": lambda x: mp.mpf(2) ** x,
        "fmod": lambda a, b: a - b * _toward_zero(a / b),
        "log2": lambda x: mp.log(x, 2),
        "gelu": lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2,
        "pow": lambda a, b: a**b,
        "rcp": lambda x: 1 / x,
        "relu": lambda x: max(x, mp.mpf(0)),
        "round": mp.nint,
        "rsqrt": lambda x: 1 / mp.sqrt(x),
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "silu": lambda x: x / (1 + mp.exp(-x)),
        "trunc": lambda x: _toward_zero(x),
    }
    return special.get(name) or getattr(mp, name)


def _toward_zero(x: Any) -> Any:
    import mpmath as mp

    return mp.floor(x) if x >= 0 else mp.ceil(x)


@cute.kernel
def _kernel(op: Constexpr[Any], arrays: Any, out: Any) -> None:
    i, _, _ = cute.arch.thread_idx()
    tiles = [cute.zipped_divide(t, (4,))[None, i].load() for t in arrays]
    cute.zipped_divide(out, (4,))[None, i].store(op(*tiles).to(out.element_type))


@cute.jit
def _launch(op: Constexpr[Any], arrays: Any, out: Any) -> None:
    _kernel(op, arrays, out).launch(grid=1, block=LENGTH // 4)


def computed(name: str, type: str, target: str, *, fast: bool = False) -> tuple[list[Any], Any]:
    """Arguments and results of a function on a target, ``sim`` or ``cuda``."""
    fn: Any = getattr(cute.math, name)
    args = inputs(name, type)
    out = np.zeros(LENGTH, args[0].dtype)
    op = (lambda *a: fn(*a, fastmath=True)) if fast else fn
    with KNOBS.override(target=target):
        wrapped = [from_dlpack(x, assumed_align=16) for x in args]
        result = from_dlpack(out, assumed_align=16)
        cute.compile(_launch, op, wrapped, result)(wrapped, result)
    return args, out


def errors(name: str, type: str, args: list[Any], out: Any) -> tuple[Any, Any]:
    """Absolute errors of results, and the ulp at each of them."""
    import mpmath as mp

    t = DTYPES[type]
    with mp.workprec(90):
        exact = oracle(name)
        columns = [[mp.mpf(float(v)) for v in a] for a in args]
        want = [mp.re(exact(*row)) for row in zip(*columns, strict=True)]
        error = np.array([float(abs(mp.mpf(float(g)) - w)) for g, w in zip(out, want, strict=True)])
        sizes = np.array([abs(float(w)) for w in want])
    _, exponent = np.frexp(sizes)
    unit = np.ldexp(t.eps, exponent - 1)
    return error, np.maximum(unit, t.smallest_subnormal)


def measured(name: str, type: str, target: str, *, fast: bool = False) -> float:
    """The largest error in ulp."""
    args, out = computed(name, type, target, fast=fast)
    error, unit = errors(name, type, args, out)
    return float((error / unit).max())


_HEAD = """# Accuracy of `cute.math`

Generated by `python -m opencute.tools.math_accuracy > docs/reference/math_accuracy.md`; do not edit.

Errors are in units in the last place (ulp) of the result, against mpmath. **GPU** is what the machine
code uses and the bound that holds there (stated by the CUDA programming guide and the PTX ISA, and
asserted on a GPU by `tests/tools/test_math_accuracy.py`); 0 means correctly rounded. **fastmath**
is the same for `fastmath=True` (`approx=True` for `rcp`), where it differs. **Simulator** is measured,
and is the same for both: it computes in f64 and rounds once. `abs`, `fabs`, `rint`, `roundeven` and
`sincos` are `absf`, `round`, `sin` and `cos`; `powi` is made of products.

| function | type | GPU | bound | fastmath | bound | note | simulator |
|---|---|---|---|---|---|---|---|
"""  # noqa: E501 - text of a document


_COMPOSED_HEAD = """
Functions that are made of others compute each step in the type, f16 and bf16 in f32; the bound is
that of the steps together, on a GPU and in the simulator.

| function | type | arguments | bound | simulator |
|---|---|---|---|---|
"""


def _how(row: MathFn | None) -> str:
    if row is None:
        return "`fdiv`"
    names = {"via_f32": "through f32", "steps": "of other fast ones"}
    return names.get(row.kind) or f"`{row.text}`"


def _rows(name: str, type: str) -> tuple[MathFn | None, MathFn | None]:
    op = FUNCTIONS[name][0]
    exact = math_fn(op, type)
    fast = math_fn(op, type, fast=True)
    return exact, fast if fast is not None and fast.fast else None


def row(name: str, type: str) -> str:
    """The line of a function for a type, without what is measured."""
    exact, fast = _rows(name, type)
    bound = f"{exact.ulp:g}" if exact is not None else "0"
    cells = [f"`{name}`", type, _how(exact), bound]
    if fast is None:
        cells += ["", "", ""]
    elif name == "rcp" and type == "f32":
        cells += ["`rcp.approx.ftz.f32`", "1", "subnormals are flushed"]
    else:
        cells += [_how(fast), f"{fast.ulp:g}", fast.note]
    return f"| {' | '.join(c.replace('|', '&#124;') for c in cells)} |"


def bound_of(name: str, type: str) -> float:
    """The bound of a function that is made of others, in ulp."""
    worst = COMPOSED[name][2]
    return worst if type in ("f64", "f32") or not worst else 0.5 + worst / 256


def composed_row(name: str, type: str) -> str:
    """The line of such a function, without what is measured."""
    low, high, _ = COMPOSED[name]
    return f"| `{name}` | {type} | {low:g} to {high:g} | {bound_of(name, type):g} |"


def markdown() -> str:
    """The document."""
    lines: list[str] = []
    for name in FUNCTIONS:
        for type in TYPES:
            worst = measured(name, type, "sim")
            lines.append(f"{row(name, type)} {math.ceil(worst * 100 - 1e-6) / 100:.2f} |")
    made = [
        f"{composed_row(n, t)} {math.ceil(measured(n, t, 'sim') * 100 - 1e-6) / 100:.2f} |"
        for n in COMPOSED for t in TYPES
    ]  # fmt: skip
    return _HEAD + "\n".join(lines) + "\n" + _COMPOSED_HEAD + "\n".join(made) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
