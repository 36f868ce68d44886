# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Compiling in other processes and in several threads; executors that travel; no leak."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.counters import COUNTERS
from opencute.base.errors import LanguageError, OpenCuTeError, ToolchainError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.jit import calls
from opencute.runtime.cache import default_cache

pytestmark = pytest.mark.t1


@cute.kernel
def add_kernel(x: cute.Tensor, n: cutlass.Constexpr):
    x[0] = x[0] + n


@cute.jit
def add(x: cute.Tensor, n: cutlass.Constexpr):
    add_kernel(x, n).launch(grid=1, block=1)


@cute.kernel
def wrong_kernel(x: cute.Tensor):
    x[0] = undefined_name  # noqa: F821  # pyright: ignore


@cute.jit
def wrong(x: cute.Tensor):
    wrong_kernel(x).launch(grid=1, block=1)


@cute.kernel
def bad_asm_kernel(x: cute.Tensor):
    x[0] = x[0] + 1


def example() -> Any:
    return from_dlpack(np.zeros(4, np.int32))


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path) -> Iterator[None]:
    calls._runners.clear()
    with KNOBS.override(target="sim:sm_90a", cache_dir=tmp_path / "cache"):
        yield


def ran(executor: Any) -> int:
    x = np.zeros(4, np.int32)
    executor(from_dlpack(x))
    return int(x[0])


def test_many_kernels_in_processes() -> None:
    seen: list[tuple[int, int]] = []
    made = cute.compile_many(
        [(add, (example(), n)) for n in (1, 2, 3, 2)], processes=2,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert [ran(e) for e in made] == [1, 2, 3, 2]
    assert seen[0] == (0, 4) and seen[-1] == (4, 4)
    assert all(e.__cubin__.startswith(b"\x7fELF") for e in made)
    assert default_cache().stat().entries == 3
    before = COUNTERS.cache_hits
    calls._runners.clear()
    single = cute.compile(add, example(), 3)
    assert single.__cubin__ == made[2].__cubin__ and COUNTERS.cache_hits == before + 1
    again = cute.compile_many([(add, (example(), 1))])  # from the cache: no process
    assert again[0].__ptx__ == made[0].__ptx__


def test_errors_say_which_item() -> None:
    items = [(add, (example(), 1)), (wrong, (example(),))]
    with pytest.raises(NameError) as e:
        cute.compile_many(items, processes=1)
    assert "undefined_name" in str(e.value)
    assert any("item 1" in note for note in e.value.__notes__)
    found = cute.compile_many(items, processes=1, return_errors=True)
    assert ran(found[0]) == 1 and isinstance(found[1], Exception)


def test_errors_of_workers_come_back_whole(tmp_path: Path) -> None:
    broken = tmp_path / "ptxas"
    broken.write_text(
        "#!/bin/sh\n[ $1 = --version ] && echo V13.0.88 && exit\n"
        "cat > /dev/null\necho 'ptxas fatal : out of luck' >&2\nexit 9\n"
    )
    broken.chmod(0o755)
    os.environ["OPENCUTE_PTXAS"] = str(broken)  # workers inherit it
    try:
        with pytest.raises(ToolchainError) as e:
            cute.compile_many([(add, (example(), 9))], processes=1)
    finally:
        del os.environ["OPENCUTE_PTXAS"]
    assert "out of luck" in str(e.value) and any("add" in n for n in e.value.__notes__)


def test_a_worker_that_dies_is_an_error_not_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    from opencute.jit import pool

    monkeypatch.setattr(pool, "_START", "import sys; sys.exit(7)#{path}")
    found = cute.compile_many([(add, (example(), 5))], processes=1, return_errors=True)
    assert found[0].code == "OC1051" and "7" in str(found[0].found)


def test_no_kernel_functions() -> None:
    with pytest.raises(LanguageError):
        cute.compile_many([(add_kernel, (example(), 1))])


def test_threads_compile_different_and_equal_kernels() -> None:
    results: dict[int, int] = {}
    errors: list[BaseException] = []
    start = threading.Barrier(8)

    def work(i: int) -> None:
        try:
            start.wait()
            n = i // 2  # each kernel is compiled by two threads at once
            compiled = cute.compile(add, example(), n)
            assert compiled.__cubin__
            results[i] = ran(compiled)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and results == {i: i // 2 for i in range(8)}
    assert len(calls._runners) == 4 and not calls._making


def test_a_compilation_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ToolchainError("no", code="OC1500")

    with monkeypatch.context() as m:
        m.setattr(calls, "make_runner", fail)
        with pytest.raises(ToolchainError):
            cute.compile(add, example(), 77)
    assert not calls._making
    assert ran(cute.compile(add, example(), 77)) == 77


def test_threads_call_one_function_directly() -> None:
    values: list[int] = []

    def work(i: int) -> None:
        x = np.zeros(4, np.int32)
        for _ in range(3):
            add(from_dlpack(x), 10 + i % 2)
        values.append(int(x[0]) - 3 * (10 + i % 2))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert values == [0] * 8


def test_executors_can_be_pickled() -> None:
    compiled = cute.compile(add, example(), 6)
    cubin = compiled.__cubin__
    data = pickle.dumps(compiled)
    calls._runners.clear()
    again = pickle.loads(data)
    assert ran(again) == 6 and again.__cubin__ == cubin
    script = (
        f"import sys, pickle; sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}\n"
        "import numpy as np\n"
        f"e = pickle.loads({data!r})\n"
        "from opencute.cute.runtime import from_dlpack\n"
        "x = np.zeros(4, np.int32); e(from_dlpack(x)); print(x[0], len(e.__cubin__))\n"
    ).replace("test_pool.add", "test_pool.add")
    name = add.__module__
    environment = dict(os.environ, PYTHONPATH="", OPENCUTE_TARGET="sim:sm_90a")
    if name != "test_pool":
        script = f"import sys, importlib.util as u\ns = u.spec_from_file_location({name!r}, " \
                 f"{__file__!r})\nm = u.module_from_spec(s)\nsys.path[:0] = {sys.path!r}\n" \
                 f"sys.modules[{name!r}] = m; s.loader.exec_module(m)\n" + script  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout.split() == ["6", str(len(cubin))], done.stderr


def test_many_kernels_leave_nothing_behind() -> None:
    """Threads, files and memory stay as they were after hundreds of different kernels."""

    def resident() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    calls._runners.limit, limit = 8, calls._runners.limit
    try:
        for n in range(100):
            cute.compile(add, example(), n)
        gc.collect()
        threads, files, memory = threading.active_count(), open_files(), resident()
        for n in range(100, 400):
            cute.compile(add, example(), n)
        gc.collect()
        assert threading.active_count() == threads and open_files() <= files
        assert resident() - memory < 12 << 20
        assert len(calls._runners) == 8
    finally:
        calls._runners.limit = limit


@pytest.mark.parametrize(
    ("items", "code"),
    [
        (None, "OC2197"),
        (add, "OC2197"),
        ("add", "OC2197"),
        ((add, (1, 2)), "OC2197"),
        ([add], "OC2198"),
        ([3], "OC2198"),
        ([(add,)], "OC2198"),
        ([(add, 3)], "OC2198"),
        ([(add, (), {}, {})], "OC2198"),
        ([(add, (3,), 4)], "OC2198"),
        ([(len, (3,))], "OC1136"),
        ([(add_kernel, (3, 4))], "OC1135"),
        ([(add, ())], "OC2130"),
        ([(add, (), {"m": 1})], "OC2130"),
    ],
)
def test_wrong_items(items: Any, code: str) -> None:
    with pytest.raises(OpenCuTeError) as e:
        cute.compile_many(items)
    assert e.value.code == code
    if isinstance(items, list):
        assert any("item 0" in n for n in getattr(e.value, "__notes__", ["item 0"]))
        (found,) = cute.compile_many(items, return_errors=True)
        assert found.code == code
