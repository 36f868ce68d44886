# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What Python says about a wrong use of something of ours, as an error with a code and a hint.

In: an exception that a line of the user's raised while it was traced. Out: an error that says what
there is instead, or None where the exception has nothing to do with this package::

    t.shap                      # a Tensor has no attribute 'shap'; did you mean shape?
    kernel(t).launch(blok=32)   # launch() has no argument 'blok'; did you mean block?
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from typing import Any

from opencute.base.errors import (
    ArgumentTypeError,
    OpenCuTeError,
    TypeMismatchError,
    UnknownNameError,
)
from opencute.base.suggest import did_you_mean
from opencute.lang import numbers

__all__ = ["bound", "explained"]

_OURS = ("opencute", "cutlass")
_UNEXPECTED = re.compile(r"([\w.<>]+)\(\) got an unexpected keyword argument '(\w+)'")
_OTHER = re.compile(
    r"([\w.<>]+)\(\) ((?:missing|takes|got multiple values|got some positional).*)", re.DOTALL
)
# What users know these classes as.
_SHOWN = {"TracedTensor": "Tensor", "ExternalTensor": "Tensor", "Decorated": "function"}
# What arrays of other libraries call it, and how it is written here.
_TURNED = (
    "another layout of the same memory: cute.make_tensor(x.iterator, cute.make_layout(shape, "
    "stride=strides)); cute.select(x.layout, [1, 0]) exchanges two modes"
)
_ELSEWHERE = {
    **dict.fromkeys(("T", "permute", "reshape", "transpose", "view"), _TURNED),
    "item": "write x[0]",
    "astype": "write x.to(dtype)", "dim": "write cute.rank(x)", "len": "write cute.size(x)",
    "max": "write x.reduce(cute.ReductionOp.MAX, init, 0)",
    "min": "write x.reduce(cute.ReductionOp.MIN, init, 0)",
    "ndim": "write cute.rank(x)", "numel": "write cute.size(x)",
    "prod": "write x.reduce(cute.ReductionOp.MUL, init, 0)", "size": "write cute.size(x)",
    "sum": "write x.reduce(cute.ReductionOp.ADD, init, 0)",
}  # fmt: skip
_VALUES = (
    "work with its values: x[i] of an element, x.load() of a tile of static shape; results go to "
    "memory by y[i] = v and y.store(v)"
)
# What Python says, in which groups classes stand; what is said instead.
_TENSORS = (
    (r"unsupported operand type\(s\) for (?P<op>\S+): '(\w+)' and '(\w+)'",
     "has no operator {op}", _VALUES),
    (r"bad operand type for unary (?P<op>\S+): '(\w+)'",
     "has no operator {op}", _VALUES),
    (r"'(?P<op>\S+)' not supported between instances of '(\w+)' and '(\w+)'",
     "cannot be compared by {op}", _VALUES),
    (r"object of type '(\w+)' has no len\(\)", "has no len()",
     "write cute.size(x), cute.size(x, mode=[0]) or x.shape[0]"),
    (r"'(\w+)' object is not callable", "cannot be called",
     "elements are x[i, j]; layouts are called: x.layout((i, j)) is an offset"),
)  # fmt: skip
_OPERANDS = (
    r"unsupported operand type\(s\) for (?P<op>\S+): '(\w+)' and '(\w+)'",
    r"'(?P<op>\S+)' not supported between instances of '(\w+)' and '(\w+)'",
    r"bad operand type for unary (?P<op>\S+): '(\w+)'",
)
_INDEXED = re.compile(r"'(\w+)' object (?:is not subscriptable|does not support item assignment)")
# What people index in the place of a tensor, and what to do.
_UNINDEXED = {
    "NoneType": "an argument that may be None is asked first, while compiling: "
    "if cutlass.const_expr(x is not None)",
    "Pointer": "make a tensor of it, cute.make_tensor(pointer, layout), or move it: "
    "(pointer + i).load()",
    "TmaAtom": "make_tiled_tma_atom gives an atom and a tensor: index the tensor",
}
_UFUNC = re.compile(
    r"operand '(\w+)' does not support ufuncs|loop of ufunc .* of type (\w+) which has no callable"
)
_HIDDEN = ("loc", "ip", "self", "cls")


def explained(error: BaseException, frame: types.FrameType) -> OpenCuTeError | None:
    """An error in the place of `error`, which the code of `frame` itself raised."""
    if isinstance(error, OpenCuTeError):
        return None
    if isinstance(error, AttributeError):
        return _attribute(error)
    if isinstance(error, TypeError) and error.args:
        said = str(error.args[0])
        return (
            _of_tensors(said)
            or _of_tuples(said, frame)
            or _of_indices(said, frame)
            or _of_numpy(said)
            or _call(said, frame)
        )
    return None


def _of_tensors(said: str) -> TypeMismatchError | None:
    """Where Python finds no operator or function for a tensor, which is memory and no value."""
    for pattern, text, hint in _TENSORS:
        found = re.match(pattern, said)
        if found is not None and "TracedTensor" in found.groups():
            if found.groupdict().get("op") == "@":
                hint = "a product is cute.gemm(mma, d, a, b, c) of fragments, or kernels.gemm"
            what = text.format(**found.groupdict())
            return TypeMismatchError(
                f"a tensor is memory, not a value: it {what}", code="OC1286", hint=hint
            )
    return None


def _of_tuples(said: str, frame: types.FrameType) -> TypeMismatchError | None:
    """Where a tuple, as `thread_idx()` gives it, stands for a number."""
    for pattern in _OPERANDS:
        found = re.match(pattern, said)
        if found is not None and "tuple" in found.groups():
            return TypeMismatchError(
                f"a tuple is no number: it has no operator {found['op']}", code="OC1288",
                found=_named(frame, tuple) or said,
                hint="take its entries: x, y, z = cute.arch.thread_idx(), or thread_idx()[0]",
            )  # fmt: skip
    return None


def _of_indices(said: str, frame: types.FrameType) -> TypeMismatchError | None:
    """Where something that has no elements is indexed as a tensor is."""
    found = _INDEXED.fullmatch(said)
    name = found[1] if found is not None else ""
    if not name or not (name in ("NoneType", "int", "float", "bool") or _is_class_of_ours(name)):
        return None
    classes: dict[str, Any] = {"NoneType": type(None), "int": int, "float": float, "bool": bool}
    known = {"NoneType": "None", "int": "an int", "float": "a float", "bool": "a bool"}
    what = known.get(name) or _with_article(_SHOWN.get(name) or name)
    return TypeMismatchError(
        f"{what} has no elements", code="OC1289",
        expected="a tensor, or a tuple", found=_named(frame, classes.get(name, name)) or None,
        hint=_UNINDEXED.get(name),
    )  # fmt: skip


def _is_class_of_ours(name: str) -> bool:
    return any(
        isinstance(vars(module).get(name), type)
        for key, module in list(sys.modules.items())
        if key.partition(".")[0] == "opencute"
    )


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _named(frame: types.FrameType, kind: Any) -> str:
    """The variables of a frame that are of a class, or of one of this name, with their values."""
    several = [
        f"{name} = {value!r:.60}"
        for name, value in frame.f_locals.items()
        if name.isidentifier() and not name.startswith("__")
        and (isinstance(value, kind) if isinstance(kind, type) else type(value).__name__ == kind)
    ]  # fmt: skip
    return ", ".join(several[:3])


def _of_numpy(said: str) -> TypeMismatchError | None:
    """Where a function of NumPy gets what has no value while tracing."""
    found = _UFUNC.search(said)
    name = (found[1] or found[2]) if found is not None else ""
    if not name or not (name in ("TracedTensor", "TensorSSA") or hasattr(numbers, name)):
        return None
    return TypeMismatchError(
        "NumPy's functions do not take what is computed when the kernel runs", code="OC1287",
        found=f"a {_SHOWN.get(name, name)}",
        hint="use those of cute.math, such as cute.math.exp(x), and cute.where(c, a, b)",
    )  # fmt: skip


def bound(
    name: str,
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: tuple[str, ...] = (),
) -> inspect.BoundArguments:
    """The arguments of a call of a user's function by name.

    Args:
        name: of the function.
        signature: its signature.
        args: positional arguments.
        kwargs: keyword arguments.
        options: keywords that whoever calls the function takes, and that may be meant.

    Raises:
        ArgumentTypeError: they do not fit the signature.
    """
    try:
        return signature.bind(*args, **kwargs)
    except TypeError as e:
        said = str(e)
    names = [p for p in signature.parameters if p != "self"]
    shown = ", ".join(names) or "no arguments"
    for key in kwargs:
        if key not in names:
            raise ArgumentTypeError(
                f"{name}() has no argument {key!r}", code="OC2130", expected=shown,
                hint=did_you_mean(key, [*names, *options]) or None,
            )  # fmt: skip
    missing = re.match(r"missing a required .*'(\w+)'", said)
    if missing:
        raise ArgumentTypeError(
            f"{name}() misses argument {missing[1]!r}", code="OC2130", expected=shown
        )
    if said.startswith("too many"):
        count = len(args) - ("self" in signature.parameters)
        raise ArgumentTypeError(
            f"{name}() takes {len(names)} arguments", code="OC2130", expected=shown,
            found=f"{count} arguments",
        )  # fmt: skip
    raise ArgumentTypeError(f"{name}(): {said}", code="OC2130", expected=shown)


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in _OURS


def _attribute(error: AttributeError) -> OpenCuTeError | None:
    obj, name = error.obj, error.name
    if obj is None or not name:
        return None
    if isinstance(obj, tuple) and name in ("x", "y", "z") and len(_listed(obj)) == 3:
        return UnknownNameError(
            f"a tuple has no attribute {name!r}", name, code="OC1143",
            hint="write x, y, z = cute.arch.thread_idx(), or thread_idx()[0]",
        )  # fmt: skip
    cls: Any = obj if isinstance(obj, type) else type(obj)
    if not _is_ours(getattr(cls, "__module__", None)):
        return None
    own = str(error)
    if own and "has no attribute" not in own:  # the object itself says what it has
        return UnknownNameError(own, name, code="OC1143")
    known = str(_SHOWN.get(cls.__name__) or cls.__name__)
    what = f"class {known}" if cls is obj else _with_article(known)
    hint = _ELSEWHERE.get(name) or did_you_mean(name, {*dir(obj), *dir(cls), *dir(type(cls))})
    return UnknownNameError(
        f"{what} has no attribute {name!r}", name, code="OC1143", hint=hint or None
    )


def _listed(obj: Any) -> list[Any]:
    """The items of a tuple that are numbers of compiled code."""
    return [x for x in obj if isinstance(x, numbers.Numeric)]


def _call(message: str, frame: types.FrameType) -> OpenCuTeError | None:
    unexpected = _UNEXPECTED.match(message)
    other = None if unexpected else _OTHER.match(message)
    match = unexpected or other
    fn = _function(match[1], frame) if match else None
    if match is None or fn is None:
        return None
    shown = _shown_name(match[1])
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    known = [k for k, p in _parameters(fn).items() if k not in _HIDDEN and p.kind not in several]
    if unexpected:
        name = match[2]
        return TypeMismatchError(
            f"{shown}() has no argument {name!r}", code="OC1267",
            expected=", ".join(known) or "no keywords", hint=did_you_mean(name, known) or None,
        )  # fmt: skip
    text = f"{shown}() {match[2]}"
    return TypeMismatchError(text, code="OC1268", expected=_written(shown, fn))


def _shown_name(name: str) -> str:
    parts = [p for p in name.split(".") if p != "__init__"]
    return parts[-1].removesuffix("_") if parts else name


def _function(name: str, frame: types.FrameType) -> Any:
    """The function of ours that Python names in a message; None if it is not ours."""
    first = name.partition(".")[0]
    for scope in (frame.f_locals, frame.f_globals):
        theirs = scope.get(first)
        if theirs is not None and not _is_ours(getattr(theirs, "__module__", None)):
            return None
    for module in list(sys.modules):
        if module.partition(".")[0] != "opencute":
            continue
        found: Any = sys.modules[module]
        for part in name.split("."):
            found = vars(found).get(part) if isinstance(found, (type, types.ModuleType)) else None
        found = getattr(found, "__func__", found)
        if isinstance(found, types.FunctionType) and found.__module__ == module:
            return found
    return None


def _parameters(fn: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(fn).parameters)


def _written(name: str, fn: Any) -> str:
    """A call with the names of its parameters; those that have a default with `=...`."""
    out: list[str] = []
    keywords = False
    for key, p in _parameters(fn).items():
        if key in _HIDDEN:
            continue
        if p.kind is p.VAR_POSITIONAL:
            out.append(f"*{key}")
            keywords = True
        elif p.kind is p.VAR_KEYWORD:
            out.append(f"**{key}")
        else:
            if p.kind is p.KEYWORD_ONLY and not keywords:
                out.append("*")
                keywords = True
            out.append(key if p.default is p.empty else f"{key}=...")
    return f"{name}({', '.join(out)})"
