# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Streams in everybody's spelling."""

from __future__ import annotations

import sys

import pytest

from opencute.base.errors import ArgumentError
from opencute.runtime.stream import current_stream, stream_handle

pytestmark = pytest.mark.t0


class Int:
    """cuda-bindings objects are like this."""

    def __int__(self):
        return 11


class Torch:
    cuda_stream = 22


class Method:
    def __cuda_stream__(self):
        return (0, 33)


class Property:
    __cuda_stream__ = (0, 44)


@pytest.mark.parametrize(
    ("stream", "handle"),
    [(0, 0), (7, 7), (Int(), 11), (Torch(), 22), (Method(), 33), (Property(), 44)],
)
def test_spellings(stream, handle):
    assert stream_handle(stream) == handle


@pytest.mark.parametrize("bad", [-1, True, 1.5, "0", object(), [1]])
def test_other_objects_are_refused(bad):
    with pytest.raises(ArgumentError) as caught:
        stream_handle(bad)
    assert caught.value.code == "OC2150"


def test_without_a_framework_it_is_the_legacy_default_stream(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert current_stream() == 0
    assert stream_handle(None) == 0


def test_the_frameworks_stream_is_read_at_each_call(monkeypatch):
    """pytorch/helion 2817: a graph captured nothing, as the stream was kept with the arguments."""

    class Cuda:
        handle = 5
        ready = True
        asked = None

        @classmethod
        def is_initialized(cls):
            return cls.ready

        @classmethod
        def current_stream(cls, device):
            cls.asked = device
            return type("Stream", (), {"cuda_stream": cls.handle})

    monkeypatch.setitem(sys.modules, "torch", type("torch", (), {"cuda": Cuda}))
    assert stream_handle(None, device=1) == 5
    assert Cuda.asked == 1
    Cuda.handle = 6
    assert stream_handle(None) == 6
    Cuda.ready = False
    assert stream_handle(None) == 0


def test_a_half_imported_torch_is_no_framework(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", type("torch", (), {}))
    assert current_stream() == 0
