# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Capsules are taken once, and deleters run once."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys

import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.runtime import capsule as c
from opencute.runtime.capsule import give, row_major, take
from opencute.runtime.dltypes import TYPES

pytestmark = pytest.mark.t0


class Owner:
    """Weakly referable, to see when it dies."""


def make(versioned=True, shape=(2, 3), owner=None, flags=0, strides=None):
    return give(
        0x1000,
        shape,
        strides or row_major(shape),
        TYPES["float32"],
        (1, 0),
        flags=flags,
        owner=owner,
        versioned=versioned,
    )


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (1, 2, 3, 4, 5)])
def test_what_is_given_is_what_is_taken(versioned, shape):
    before = len(c._given)
    taken = take(make(versioned, shape, flags=c.READ_ONLY))
    assert (taken.address, taken.shape, taken.strides) == (0x1000, shape, row_major(shape))
    assert (taken.dtype, taken.device) == (TYPES["float32"], (1, 0))
    assert taken.flags == (c.READ_ONLY if versioned else 0)
    assert len(c._given) == before + 1
    del taken
    assert len(c._given) == before


@pytest.mark.parametrize("versioned", [True, False])
def test_a_capsule_that_nobody_takes_frees_its_tensor(versioned):
    before = len(c._given)
    made = make(versioned)
    assert len(c._given) == before + 1
    del made
    gc.collect()
    assert len(c._given) == before


def test_a_taken_capsule_may_die_first_and_cannot_be_taken_again():
    before = len(c._given)
    made = make()
    taken = take(made)
    with pytest.raises(ArgumentError, match="nobody has taken") as caught:
        take(made)
    assert caught.value.code == "OC2012"
    del made
    gc.collect()
    assert len(c._given) == before + 1
    assert taken.shape == (2, 3)
    del taken
    assert len(c._given) == before


@pytest.mark.parametrize("nonsense", [None, 3, "dltensor", object()])
def test_other_objects_are_refused(nonsense):
    with pytest.raises(ArgumentError):
        take(nonsense)


def count_deleter_calls(change):
    """Take a tensor made by hand; returns what that raised, and how often the deleter ran."""
    calls = []
    deleter = c._Deleter(lambda pointer: calls.append(pointer))
    managed = c._ManagedVersioned()
    managed.major, managed.minor = c.MAX_VERSION
    managed.deleter = ctypes.cast(deleter, ctypes.c_void_p)
    change(managed)
    made = c._new(ctypes.addressof(managed), b"dltensor_versioned", None)
    raised = None
    try:
        taken = take(made)
        assert calls == []
        del taken
    except ArgumentError as e:
        raised = e
    del made
    gc.collect()
    assert all(p == ctypes.addressof(managed) for p in calls)
    return raised, len(calls)


def test_the_deleter_runs_exactly_once():
    assert count_deleter_calls(lambda managed: None) == (None, 1)


def test_a_later_minor_version_is_fine_and_a_later_major_one_is_not():
    def minor(managed):
        managed.minor = 99

    def major(managed):
        managed.major = 2

    assert count_deleter_calls(minor) == (None, 1)
    raised, calls = count_deleter_calls(major)
    assert raised is not None
    assert raised.code == "OC2012"
    assert calls == 1


def test_a_missing_deleter_is_fine():
    def none(managed):
        managed.deleter = None

    assert count_deleter_calls(none) == (None, 0)


def test_null_strides_and_byte_offsets():
    managed = c._ManagedVersioned()
    managed.major, managed.minor = c.MAX_VERSION
    shape = (ctypes.c_int64 * 2)(2, 3)
    managed.tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    managed.tensor.ndim = 2
    managed.tensor.data = 0x1000
    managed.tensor.byte_offset = 0x24
    taken = take(c._new(ctypes.addressof(managed), b"dltensor_versioned", None))
    assert taken.strides == (3, 1)
    assert taken.address == 0x1024


def test_numpy_takes_what_we_give():
    array = np.arange(6, dtype=np.float32)

    class Producer:
        def __dlpack__(self, **_):
            return give(
                array.ctypes.data, (3, 2), (1, 3), TYPES["float32"], (1, 0),
                flags=0, owner=array, versioned=True,
            )  # fmt: skip

        def __dlpack_device__(self):
            return (1, 0)

    before = len(c._given)
    seen = np.from_dlpack(Producer())
    assert np.array_equal(seen, array.reshape(2, 3).T)
    assert len(c._given) == before + 1
    del seen
    gc.collect()
    assert len(c._given) == before


def test_exit_with_live_tensors_is_quiet():
    """Deleters at interpreter exit must neither crash nor print."""
    code = (
        "import numpy as np; from opencute.runtime.capsule import give, take, row_major;"
        "from opencute.runtime.dltypes import TYPES;"
        "a = take(np.zeros(3).__dlpack__());"
        "b = give(4096, (2,), (1,), TYPES['int8'], (1, 0), flags=0, owner=a, versioned=True);"
        "c = take(give(4096, (2,), (1,), TYPES['int8'], (1, 0), flags=0, owner=a, versioned=True));"
        "import builtins; builtins.keep = (a, b, c)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
