# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The disk cache: whole entries or none, a cap, damage, many processes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.runtime.cache import DiskCache, default_cache, default_directory

pytestmark = pytest.mark.t0


def key(n: object) -> str:
    return hashlib.sha256(str(n).encode()).hexdigest()


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "c")


def entry_file(cache, k):
    return cache.directory / k[:2] / f"{k}.entry"


def use_at(cache, k, when):
    os.utime(entry_file(cache, k), (when, when))


@settings(max_examples=30, deadline=None)
@given(blobs=st.dictionaries(st.text(max_size=8), st.binary(max_size=200), max_size=4))
def test_what_was_put_comes_back(tmp_path_factory, blobs):
    cache = DiskCache(tmp_path_factory.mktemp("c"))
    assert cache.put(key(1), blobs)
    assert cache.get(key(1)) == blobs
    assert list(cache.get(key(1)) or {}) == list(blobs)


def test_missing_entries_and_counts(cache):
    assert cache.get(key(1)) is None
    cache.put(key(1), {"a": b"1"})
    cache.put(key(1), {"a": b"2"})
    assert DiskCache(cache.directory).get(key(1)) == {"a": b"2"}
    assert cache.get(key(1)) == {"a": b"2"}
    stat = cache.stat()
    assert (stat.entries, stat.hits, stat.misses, stat.dropped, stat.evicted) == (1, 1, 1, 0, 0)
    assert stat.size == entry_file(cache, key(1)).stat().st_size


def test_the_first_digits_tell_what_is_missing(cache):
    assert not cache.has_any(key(1)[:16])  # no directory yet
    cache.put(key(1), {"a": b"1"})
    assert cache.has_any(key(1)[:16]) and cache.has_any(key(1)[:2])
    assert not cache.has_any(key(1)[:15] + ("1" if key(1)[15] == "0" else "0"))
    assert not DiskCache(None).has_any(key(1)[:16])
    assert cache.stat().misses >= 1


def test_listing_and_clearing(cache):
    assert cache.ls() == []
    for n in range(3):
        cache.put(key(n), {"cubin": bytes(n), "ptx": b""})
        use_at(cache, key(n), 1000 + n)
    assert [e.key for e in cache.ls()] == [key(2), key(1), key(0)]
    assert cache.ls()[0].names == ("cubin", "ptx")
    assert cache.ls()[0].used == 1002
    assert cache.clear() == 3
    assert cache.ls() == []
    assert cache.get(key(0)) is None
    assert cache.clear() == 0


@pytest.mark.parametrize("bad", ["", "abc", "../" + "0" * 61, "A" * 64, "0" * 65, "0" * 63 + "/"])
def test_keys_cannot_leave_the_directory(cache, bad):
    for use in (lambda: cache.get(bad), lambda: cache.put(bad, {})):
        with pytest.raises(ArgumentError) as caught:
            use()
        assert caught.value.code == "OC2218"


def test_every_damaged_byte_is_noticed(cache):
    cache.put(key(1), {"a": b"hello", "b": b"world"})
    path = entry_file(cache, key(1))
    good = path.read_bytes()
    for at in range(len(good)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x40]) + good[at + 1 :])
        assert cache.get(key(1)) is None
        assert not path.exists()
    for size in (0, 5, 20, len(good) - 1):
        path.write_bytes(good[:size])
        assert cache.get(key(1)) is None
    path.write_bytes(good + b"x")
    assert cache.get(key(1)) is None
    assert cache.stat().dropped == len(good) + 5
    path.write_bytes(good)
    assert cache.get(key(1)) == {"a": b"hello", "b": b"world"}


def test_an_entry_under_another_name_is_not_believed(cache):
    cache.put(key(1), {"a": b"1"})
    other = entry_file(cache, key(2))
    other.parent.mkdir(exist_ok=True)
    other.write_bytes(entry_file(cache, key(1)).read_bytes())
    assert cache.get(key(2)) is None


@pytest.mark.parametrize(
    "header", [b"nonsense", b"[]", b"{}", b'{"key": 1}', b'{"key": "KEY", "blobs": [["a", 9]]}']
)
def test_a_wrong_header_with_a_right_digest_is_not_believed(cache, header):
    header = header.replace(b"KEY", key(1).encode())
    body = b"OpenCuTe cache 1\n" + len(header).to_bytes(4, "little") + header + b"blob"
    cache.put(key(1), {})
    entry_file(cache, key(1)).write_bytes(body + hashlib.sha256(body).digest())
    assert cache.get(key(1)) is None


def test_damaged_entries_are_not_listed(cache):
    cache.put(key(1), {"a": b"1"})
    cache.put(key(2), {"a": b"1"})
    entry_file(cache, key(1)).write_bytes(b"nonsense")
    assert [e.key for e in cache.ls()] == [key(2)]


def test_the_least_recently_used_entries_make_room(tmp_path):
    cache = DiskCache(tmp_path, capacity=10_000)
    for n in range(8):
        cache.put(key(n), {"a": bytes(1000)})
        use_at(cache, key(n), 1000 + n)
    cache.get(key(0))  # touched: the most recent now
    cache.put(key(8), {"a": bytes(1000)})
    cache.put(key(9), {"a": bytes(1000)})
    kept = {n for n in range(10) if cache.get(key(n)) is not None}
    assert {0, 8, 9} <= kept
    assert 1 not in kept
    assert kept == {0} | set(range(min(kept - {0}), 10))
    assert cache.stat().size <= 10_000
    assert cache.stat().evicted == 10 - len(kept)


def test_entries_of_other_processes_count(tmp_path):
    mine, other = DiskCache(tmp_path, capacity=5_000), DiskCache(tmp_path, capacity=1 << 20)
    mine.put(key(0), {"a": bytes(1000)})
    for n in range(1, 10):
        other.put(key(n), {"a": bytes(1000)})
    for n in range(10, 15):
        mine.put(key(n), {"a": bytes(1000)})
    assert mine.stat().size <= 5_000


def test_an_entry_larger_than_the_cap_is_not_kept(tmp_path):
    cache = DiskCache(tmp_path, capacity=1000)
    cache.put(key(1), {"a": b"x"})
    assert not cache.put(key(2), {"a": bytes(2000)})
    assert cache.get(key(1)) == {"a": b"x"}


def test_a_directory_that_cannot_be_written_warns_once(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = DiskCache(tmp_path / "file" / "c")
    with pytest.warns(RuntimeWarning, match="OPENCUTE_CACHE_DIR"):
        assert not cache.put(key(1), {"a": b"1"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not cache.put(key(2), {"a": b"1"})
        assert cache.get(key(1)) is None
        assert cache.ls() == []
        assert cache.clear() == 0
        assert cache.stat().entries == 0


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may write")
def test_a_read_only_directory_still_answers(cache):
    cache.put(key(1), {"a": b"1"})
    entry_file(cache, key(1)).parent.chmod(0o500)
    try:
        assert cache.get(key(1)) == {"a": b"1"}
    finally:
        entry_file(cache, key(1)).parent.chmod(0o700)


def test_no_temporary_files_remain(cache, monkeypatch):
    cache.put(key(1), {"a": b"1"})

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.warns(RuntimeWarning, match="No space"):
        assert not cache.put(key(2), {"a": b"1"})
    assert [p.name for p in cache.directory.rglob("*") if p.is_file()] == [f"{key(1)}.entry"]


def test_temporary_files_of_dead_processes_go(cache):
    cache.put(key(1), {"a": b"1"})
    folder = entry_file(cache, key(1)).parent
    old, new = folder / "old.tmp", folder / "new.tmp"
    for path in (old, new):
        path.write_bytes(b"x")
    os.utime(old, (1000, 1000))
    cache.clear()
    assert not old.exists()
    assert new.exists()


HAMMER = """
import hashlib, sys
from pathlib import Path
from opencute.runtime.cache import DiskCache
cache = DiskCache(Path(sys.argv[1]), capacity=60_000)
seed = int(sys.argv[2])
for n in range(150):
    k = hashlib.sha256(str((n * 7 + seed) % 40).encode()).hexdigest()
    found = cache.get(k)
    assert found is None or found == {"a": k.encode() * 40}, "a torn entry"
    cache.put(k, {"a": k.encode() * 40})
assert cache.stat().dropped == 0
"""


def test_many_processes_and_threads(tmp_path):
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", HAMMER, str(tmp_path), str(seed)],
            env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
            stderr=subprocess.PIPE,
        )
        for seed in range(4)
    ]
    cache = DiskCache(tmp_path, capacity=60_000)

    def thread(n):
        k = key(n % 40)
        found = cache.get(k)
        cache.put(k, {"a": k.encode() * 40})
        return found is None or found == {"a": k.encode() * 40}

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(thread, range(200)))
    for job in jobs:
        assert job.wait() == 0, job.stderr.read().decode()
        job.stderr.close()
    assert cache.stat().dropped == 0
    assert not list(tmp_path.rglob("*.tmp"))


def test_knobs_choose_the_cache(tmp_path, monkeypatch):
    with KNOBS.override(cache_dir=tmp_path / "k", cache_size_mb=3):
        cache = default_cache()
        assert (cache.directory, cache.capacity) == (tmp_path / "k", 3 << 20)
        assert default_cache() is cache
        with KNOBS.override(cache_enabled=False):
            off = default_cache()
            assert not off.put(key(1), {"a": b"1"})
            assert off.get(key(1)) is None
            assert off.ls() == []
            assert off.stat().directory is None
        assert not (tmp_path / "k").exists()
    monkeypatch.delenv("OPENCUTE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_directory() == tmp_path / "xdg" / "opencute"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_directory() == tmp_path / "home" / ".cache" / "opencute"
