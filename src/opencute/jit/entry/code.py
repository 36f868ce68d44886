# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The native code of calls, compiled once and loaded, and what it knows of this process.

In: nothing. Out: an `Entry`, the same one each time::

    entry = load()
    entry.function("fast_call")      # an address
    entry.see_torch()                # torch has been imported since

Its object code is kept in the disk cache, so that a process only links it.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from opencute.base.errors import OpenCuTeError
from opencute.base.interned import same_constant
from opencute.base.knobs import KNOBS
from opencute.base.native_function import native_function, native_method
from opencute.jit.entry.again import again_function
from opencute.jit.entry.arguments import call_functions
from opencute.jit.entry.fast_call import fast_call_function
from opencute.jit.entry.front import front_functions
from opencute.jit.entry.lists import list_functions
from opencute.jit.entry.tensors import tensor_functions
from opencute.jit.entry.words import State
from opencute.lang import external
from opencute.lang.external import ExternalTensor
from opencute.lang.external_pointers import ExternalPointer
from opencute.lang.numbers import Int32
from opencute.native.jit import HostModule, compile_host, load_object
from opencute.native.target import host_description, llvm_version
from opencute.numeric.dtypes import DTYPES
from opencute.runtime.cache import default_cache

__all__ = ["Entry", "load"]

_FUNCTIONS = {
    "PyBool_Type": "", "PyDict_Type": "", "PyFloat_Type": "", "PyList_Type": "",
    "PyLong_Type": "", "PyTuple_Type": "", "PyExc_Exception": "",
    "PyBytes_AsString": "ptr (ptr)", "PyBytes_FromStringAndSize": "ptr (ptr, i64)",
    "PyCell_Get": "ptr (ptr)", "PyDict_GetItem": "ptr (ptr, ptr)",
    "PyDict_GetItemWithError": "ptr (ptr, ptr)",
    "PyDict_Next": "i32 (ptr, ptr, ptr, ptr)",
    "PyErr_Clear": "void ()", "PyErr_ExceptionMatches": "i32 (ptr)", "PyErr_Occurred": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
    "PyEval_SaveThread": "ptr ()", "PyFloat_AsDouble": "double (ptr)",
    "PyFunction_GetCode": "ptr (ptr)", "PyFunction_GetDefaults": "ptr (ptr)",
    "PyFunction_GetKwDefaults": "ptr (ptr)", "PyIter_Next": "ptr (ptr)",
    "PyList_GetItem": "ptr (ptr, i64)",
    "PyList_Size": "i64 (ptr)", "PyLong_AsLongLong": "i64 (ptr)",
    "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)", "PyLong_AsUnsignedLongLong": "i64 (ptr)",
    "PyLong_AsVoidPtr": "ptr (ptr)", "PyLong_FromLongLong": "ptr (i64)",
    "PyNumber_Long": "ptr (ptr)", "PyObject_CallNoArgs": "ptr (ptr)",
    "PyObject_CallOneArg": "ptr (ptr, ptr)", "PyObject_GetAttr": "ptr (ptr, ptr)",
    "PyObject_IsTrue": "i32 (ptr)", "PyObject_Size": "i64 (ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyObject_VectorcallMethod": "ptr (ptr, ptr, i64, ptr)", "PyTuple_GetItem": "ptr (ptr, i64)",
    "PyTuple_New": "ptr (i64)", "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyTuple_Size": "i64 (ptr)", "PyType_GenericAlloc": "ptr (ptr, i64)", "Py_DecRef": "void (ptr)",
    "Py_IncRef": "void (ptr)",
}  # fmt: skip
"""What the code uses of CPython: functions with their types, and classes."""

# Python 3.10 has these as inline functions only. tp_vectorcall_offset is the eighth word of a class
# whose flags say so; C functions that take a tuple, as torch's do, have none there.
_INLINE = {
    "PyObject_Vectorcall": """
define ptr @PyObject_Vectorcall(ptr %f, ptr %args, i64 %count, ptr %names) {
  %class_at = getelementptr i8, ptr %f, i64 8
  %class = load ptr, ptr %class_at
  %flags = call i64 @PyType_GetFlags(ptr %class)
  %flag = and i64 %flags, 2048
  %may = icmp ne i64 %flag, 0
  br i1 %may, label %look, label %tuple
look:
  %offset_at = getelementptr i8, ptr %class, i64 56
  %offset = load i64, ptr %offset_at
  %call_at = getelementptr i8, ptr %f, i64 %offset
  %call = load ptr, ptr %call_at
  %has = icmp ne ptr %call, null
  br i1 %has, label %direct, label %tuple
direct:
  %out = call ptr %call(ptr %f, ptr %args, i64 %count, ptr %names)
  ret ptr %out
tuple:
  %thread = call ptr @PyThreadState_Get()
  %given = and i64 %count, 9223372036854775807
  %made = call ptr @_PyObject_MakeTpCall(ptr %thread, ptr %f, ptr %args, i64 %given, ptr %names)
  ret ptr %made
}""",
    "PyObject_CallOneArg": """
define ptr @PyObject_CallOneArg(ptr %f, ptr %arg) {
  %args = alloca ptr
  store ptr %arg, ptr %args
  %out = call ptr @PyObject_Vectorcall(ptr %f, ptr %args, i64 1, ptr null)
  ret ptr %out
}""",
}

_INLINE_FUNCTIONS = {
    "PyThreadState_Get": "ptr ()", "PyType_GetFlags": "i64 (ptr)",
    "_PyObject_MakeTpCall": "ptr (ptr, ptr, ptr, i64, ptr)",
}  # fmt: skip
"""What these use; other Pythons need not have it."""

_EXCHANGE = b"dlpack_exchange_api"
# DLPackExchangeAPI: version, previous, allocator, managed_from, managed_to, borrowed_from, stream.
_EXPORT, _STREAM = 5, 6


def _text() -> str:
    lines: list[str] = []
    lines += [_INLINE[name] for name in _inline()]
    for name, type in _used().items():
        if type:
            result, parameters = type.split(" ", 1)
            lines.append(f"declare {result} @{name}{parameters}")
        else:
            lines.append(f"@{name} = external global i8")
    lines += [
        "declare i64 @llvm.cttz.i64(i64, i1)",
        f"@state = global [{State.size()} x i64] zeroinitializer",
    ]
    lines += [tensor_functions(), call_functions(), fast_call_function(), again_function()]
    lines += [front_functions(), list_functions()]
    return "\n".join(lines)


def _inline() -> tuple[str, ...]:
    """The functions that this Python does not export."""
    return tuple(n for n in _INLINE if not hasattr(ctypes.pythonapi, n))


def _used() -> dict[str, str]:
    """What is used of this Python, with types."""
    inline = _inline()
    used = {**_FUNCTIONS, **(_INLINE_FUNCTIONS if inline else {})}
    return {name: type for name, type in used.items() if name not in inline}


def _symbols() -> dict[str, int]:
    api = ctypes.pythonapi
    return {
        name: (ctypes.cast(getattr(api, name), ctypes.c_void_p).value or 0) if type
        else ctypes.addressof(ctypes.c_char.in_dll(api, name))
        for name, type in _used().items()
    }  # fmt: skip


def _compiled() -> HostModule:
    """The code, from the disk cache if it is there."""
    text = _text()
    facts = repr((text, host_description(), llvm_version(), "entry"))
    key = hashlib.sha256(facts.encode()).hexdigest()
    found = default_cache().get(key)
    if found is not None and "object" in found:
        try:
            return load_object(found["object"], _symbols())
        except OpenCuTeError:
            pass  # damaged: made again below
    # Level 2 takes four times as long; that pays where the result is kept.
    module = compile_host(text, _symbols(), opt=2 if KNOBS.cache_enabled else 0)
    default_cache().put(key, {"object": module.object_code})
    return module


def _slots(cls: type, names: tuple[str, ...], instance: Any) -> list[int]:
    """Where slots are in an instance: found by writing an object there and looking for it."""
    size = cls.__basicsize__ // 8
    words = (ctypes.c_uint64 * size).from_address(id(instance))
    out: list[int] = []
    for name in names:
        marker = object()
        setattr(instance, name, marker)
        out.append(8 * list(words).index(id(marker)))
        delattr(instance, name)
    return out


class Entry:
    """The loaded code.

    Attributes:
        stream: address of torch's current_work_stream, 0 until torch is there.
    """

    def __init__(self, module: HostModule) -> None:
        self._module = module
        self._kept: list[Any] = []
        self.stream = 0
        self._state = (ctypes.c_uint64 * State.size()).from_address(module.address("state"))
        # Methods and functions may be called as late as at exit: the code stays for ever.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))
        self._describe_python()
        self.see_torch()
        new = native_function(module.address("from_dlpack"), "from_dlpack", state=0)
        method = native_method(
            ExternalTensor, module.address("mark_layout_dynamic"), "mark_layout_dynamic",
            ExternalTensor.mark_layout_dynamic.__doc__,
        )  # fmt: skip
        external.use_native(new, method)

    def function(self, name: str) -> int:
        """The address of an exported function."""
        return self._module.address(name)

    @functools.cached_property
    def read_matrices(self) -> Callable[..., bytes | None]:
        """What lists of torch's vectors and matrices are, in words: see `jit.entry.lists`."""
        return native_function(self.function("read_matrices"), "read_matrices", state=0)

    def holds(self, checks: Sequence[int]) -> bool:
        """Whether guards hold, given in the words of `Guard.native`."""
        words = (ctypes.c_int64 * max(len(checks), 1))(*checks)
        return bool(self._holds(ctypes.addressof(words), len(checks) // 4))

    @functools.cached_property
    def _holds(self) -> Any:
        prototype = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
        return prototype(self.function("holds"))

    def _set(self, word: State, value: Any) -> None:
        """A number, or a borrowed pointer to an object that is kept here."""
        if isinstance(value, int):
            self._state[word // 8] = value
        else:
            self._kept.append(value)
            self._state[word // 8] = id(value)

    def _describe_python(self) -> None:
        bare = object.__new__(ExternalTensor)
        places = _slots(
            ExternalTensor, ("owner", "_record", "_storage", "_native_marks", "array"), bare
        )
        for word, place in zip(
            (State.OWNER_AT, State.RECORD_AT, State.STORAGE_AT, State.MARKS_AT, State.ARRAY_AT),
            places,
            strict=True,
        ):
            self._set(word, place)
        pointer = object.__new__(ExternalPointer)
        places = _slots(ExternalPointer, ("address", "dtype", "memspace", "alignment"), pointer)
        for word, place in zip(
            (State.POINTER_ADDRESS_AT, State.POINTER_DTYPE_AT, State.POINTER_SPACE_AT,
             State.POINTER_ALIGN_AT), places, strict=True,
        ):  # fmt: skip
            self._set(word, place)
        (place,) = _slots(Int32, ("value",), object.__new__(Int32))
        self._set(State.NUMBER_VALUE_AT, place)
        self._set(State.TENSOR, ExternalTensor)
        self._set(State.POINTER, ExternalPointer)
        self._set(State.NONE, id(None))
        for word, name in ((State.REQUIRES_GRAD, "requires_grad"), (State.IS_NEG, "is_neg"),
                           (State.UNTYPED_STORAGE, "untyped_storage"),
                           (State.LEADING_DIM, "leading_dim"), (State.AS_STRIDED, "as_strided"),
                           (State.DESCRIBED_PARTS, "described_parts"),
                           (State.CUDA_STREAM, "cuda_stream")):  # fmt: skip
            self._set(word, sys.intern(name))
        self._set(State.SLOW_FROM_DLPACK, external.slow_from_dlpack)
        self._set(State.SLOW_MARK, external.slow_mark)
        self._set(State.SAME_CONSTANT, same_constant)
        words = [_dlpack_word(*d.dlpack) for d in DTYPES.values() if d.dlpack is not None]
        table = (ctypes.c_uint64 * len(words))(*words)
        self._kept.append(table)
        self._set(State.TYPES, ctypes.addressof(table))
        self._set(State.TYPE_COUNT, len(words))

    def see_parts(self, cls: type) -> bool:
        """Learn a class with `described_parts`; only the first one is known to native code."""
        if not self._state[State.PARTED // 8]:
            self._set(State.PARTED, cls)
        return self._state[State.PARTED // 8] == id(cls)

    def see_torch(self) -> None:
        """Learn torch's classes and exchange functions, if it has been imported since."""
        torch: Any = sys.modules.get("torch")
        if self._state[State.TORCH_TENSOR // 8] or not hasattr(torch, "Tensor"):
            return
        table = _exchange_table(getattr(torch.Tensor, "__dlpack_c_exchange_api__", None))
        if table is None or not table[_EXPORT]:  # torch before 2.10: its tensors go through Python
            return
        self._set(State.TORCH_EXPORT, table[_EXPORT])
        self._set(State.TORCH_GRAD_ENABLED, torch.is_grad_enabled)
        self._set(State.TORCH_MODES, torch._C._len_torch_dispatch_stack)
        levels = vars(torch.autograd.forward_ad)
        self._set(State.TORCH_LEVELS, levels)
        self._set(State.CURRENT_LEVEL, sys.intern("_current_level"))
        # Python has one object for -1, as for all small numbers.
        self._set(State.NO_LEVEL, id(-1) if "_current_level" in levels else 0)
        self._set(State.TORCH_PARAMETER, torch.nn.Parameter)
        self._set(State.TORCH_TENSOR, torch.Tensor)
        self.stream = table[_STREAM]


def _dlpack_word(code: int, bits: int) -> int:
    """DLPack's four bytes of an element type: code, bits, lanes."""
    return code | bits << 8 | 1 << 16


def _exchange_table(capsule: Any) -> list[int] | None:
    """The words of a DLPackExchangeAPI of DLPack 1, None if there is none."""
    if capsule is None:
        return None
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    words = list((ctypes.c_uint64 * 7).from_address(pointer(capsule, _EXCHANGE)))
    return words if words[0] & 0xFFFFFFFF == 1 else None


_lock = threading.Lock()


def load() -> Entry:
    """The code of this process, compiled at the first call."""
    with _lock:
        return _entry()


@functools.cache
def _entry() -> Entry:
    return Entry(_compiled())
