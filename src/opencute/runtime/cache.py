# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The disk cache: named blobs under a content key.

In: a key (64 hex digits, the SHA-256 of whatever determines the content) and blobs. Out: the blobs,
as long as nobody needed the room::

    cache = default_cache()
    cache.put(key, {"cubin": cubin, "ptx": ptx})
    cache.get(key)                                # {"cubin": b"...", "ptx": b"..."} or None

One entry is one file: a magic line, the length of a JSON header, the header (names, sizes,
creation time), the blobs, and a SHA-256 of all that. Files are written under a temporary name and
renamed, so a reader sees all of an entry or nothing, whatever other processes do. A damaged entry
is dropped and counts as a miss. Nothing is ever unpickled. Reading sets the file's modification
time (access times are off on many systems); when the size cap is exceeded, the entries unused for
longest go first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import struct
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.base.log import warn

__all__ = ["CacheEntry", "CacheStat", "DiskCache", "default_cache", "default_directory"]

_MAGIC = b"OpenCuTe cache 1\n"
_HEADER = struct.Struct("<I")
_DIGEST_SIZE = 32
_SUFFIX = ".entry"
_TEMPORARY = ".tmp"
_KEY = re.compile(r"[0-9a-f]{64}")
_STALE_SECONDS = 3600  # a temporary file this old belongs to a process that died
_SLACK = 0.9  # evict down to this part of the cap, so that not every put evicts


@dataclass(frozen=True)
class CacheEntry:
    """One entry, as listed.

    Args:
        key: 64 hex digits.
        size: bytes on disk.
        used: when it was last read or written, in seconds since the epoch.
        names: names of its blobs.
    """

    key: str
    size: int
    used: float
    names: tuple[str, ...]


@dataclass(frozen=True)
class CacheStat:
    """What the cache holds and what it did in this process.

    Args:
        directory: where it is; None when there is no cache.
        entries: number of entries.
        size: bytes on disk.
        capacity: size cap in bytes.
        hits: lookups answered by this object.
        misses: lookups not answered.
        dropped: damaged entries removed.
        evicted: entries removed to make room.
    """

    directory: Path | None
    entries: int
    size: int
    capacity: int
    hits: int
    misses: int
    dropped: int
    evicted: int


def default_directory() -> Path:
    """``OPENCUTE_CACHE_DIR``, else ``opencute`` in the user's cache directory."""
    if KNOBS.cache_dir is not None:
        return KNOBS.cache_dir
    base = KNOBS.user_cache
    # The XDG rules: a relative path is to be ignored.
    root = base if base is not None and base.is_absolute() else Path("~/.cache").expanduser()
    return root / "opencute"


class DiskCache:
    """A directory of entries.

    Args:
        directory: where; made on the first `put`. None: nothing is ever kept.
        capacity: size cap in bytes.
    """

    def __init__(self, directory: Path | None, capacity: int = 1 << 30) -> None:
        self.directory = directory
        self.capacity = capacity
        self._lock = threading.Lock()
        self._size: int | None = None  # our estimate; other processes write too
        self._hits = self._misses = self._dropped = self._evicted = 0
        self._warned = False

    def get(self, key: str) -> dict[str, bytes] | None:
        """The blobs kept under a key, or None.

        Raises:
            ArgumentError: the key is not 64 lower-case hex digits.
        """
        path = self._path(key)
        if path is None:
            return None
        try:
            data = path.read_bytes()
        except OSError:
            self._misses += 1
            return None
        blobs = _decode(key, data)
        if blobs is None:
            self._dropped += 1
            self._misses += 1
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        self._hits += 1
        with contextlib.suppress(OSError):  # a read-only cache still answers
            os.utime(path)
        return blobs

    def has_any(self, start: str) -> bool:
        """Whether any key with these first digits, two or more, has blobs; if not, that is a miss.

        Who knows some digits of a key sooner than all of them need not find out the others.
        """
        path = self._path(start.ljust(64, "0"))
        if path is not None:
            with contextlib.suppress(OSError):
                if any(
                    n.startswith(start) and n.endswith(_SUFFIX) for n in os.listdir(path.parent)
                ):
                    return True
        self._misses += 1
        return False

    def put(self, key: str, blobs: Mapping[str, bytes]) -> bool:
        """Keep blobs under a key; an entry that exists is replaced.

        Returns:
            Whether they were kept. A cache that cannot be written warns once and keeps nothing.

        Raises:
            ArgumentError: the key is not 64 lower-case hex digits.
        """
        path = self._path(key)
        if path is None:
            return False
        data = _encode(key, blobs)
        if len(data) > self.capacity:
            return False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_atomically(path, data)
        except OSError as e:
            self._warn(e)
            return False
        self._make_room(len(data))
        return True

    def ls(self) -> list[CacheEntry]:
        """All entries, the most recently used first."""
        entries: list[CacheEntry] = []
        for path, status in self._files():
            names = _names(path)
            if names is not None:
                entries.append(CacheEntry(path.stem, status.st_size, status.st_mtime, names))
        return sorted(entries, key=lambda e: -e.used)

    def stat(self) -> CacheStat:
        """Sizes and counts."""
        files = list(self._files())
        return CacheStat(
            self.directory,
            len(files),
            sum(status.st_size for _, status in files),
            self.capacity,
            self._hits,
            self._misses,
            self._dropped,
            self._evicted,
        )

    def clear(self) -> int:
        """Remove all entries; returns how many there were."""
        removed = 0
        for path, _ in self._files():
            with contextlib.suppress(OSError):
                path.unlink()
                removed += 1
        self._remove_temporaries(older_than=_STALE_SECONDS)
        with self._lock:
            self._size = None
        return removed

    def _path(self, key: str) -> Path | None:
        # Keys become file names: nothing but hex digits may pass.
        if not _KEY.fullmatch(key):
            raise ArgumentError(
                "a cache key is the hex digest of a SHA-256", code="OC2218", found=key[:80]
            )
        if self.directory is None:
            return None
        return self.directory / key[:2] / f"{key}{_SUFFIX}"

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        if self.directory is None:
            return
        for path in self.directory.glob(f"[0-9a-f][0-9a-f]/*{_SUFFIX}"):
            with contextlib.suppress(OSError):  # another process removed it meanwhile
                yield path, path.stat()

    def _remove_temporaries(self, older_than: float) -> None:
        if self.directory is None:
            return
        limit = time.time() - older_than
        for path in self.directory.glob(f"[0-9a-f][0-9a-f]/*{_TEMPORARY}"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < limit:
                    path.unlink()

    def _make_room(self, added: int) -> None:
        """Evict the least recently used entries when the cap is exceeded."""
        with self._lock:
            if self._size is not None:
                self._size += added
                if self._size <= self.capacity:
                    return
            files = sorted(
                ((s.st_mtime, s.st_size, p) for p, s in self._files()),
                key=lambda f: f[0],
            )
            size = sum(f[1] for f in files)
            if size > self.capacity:
                self._remove_temporaries(older_than=_STALE_SECONDS)
                # The newest entry is the one just written: it stays.
                for _, bytes_, path in files[:-1]:
                    if size <= self.capacity * _SLACK:
                        break
                    with contextlib.suppress(OSError):
                        path.unlink()
                        size -= bytes_
                        self._evicted += 1
            self._size = size

    def _warn(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            warn(
                f"compiled code cannot be cached in {self.directory}: {error.strerror or error}; "
                "set OPENCUTE_CACHE_DIR to a writable directory, or OPENCUTE_CACHE_ENABLED=0",
                RuntimeWarning,
            )


def _encode(key: str, blobs: Mapping[str, bytes]) -> bytes:
    header = json.dumps(
        {
            "key": key,
            "created": time.time(),
            "blobs": [[name, len(blob)] for name, blob in blobs.items()],
        }
    ).encode()
    body = b"".join((_MAGIC, _HEADER.pack(len(header)), header, *map(bytes, blobs.values())))
    return body + hashlib.sha256(body).digest()


def _decode(key: str, data: bytes) -> dict[str, bytes] | None:
    """The blobs of an entry, or None when any byte of it is wrong."""
    body, digest = data[:-_DIGEST_SIZE], data[-_DIGEST_SIZE:]
    start = len(_MAGIC) + _HEADER.size
    if len(body) < start or body[: len(_MAGIC)] != _MAGIC:
        return None
    if hashlib.sha256(body).digest() != digest:
        return None
    end = start + _HEADER.unpack_from(body, len(_MAGIC))[0]
    try:
        header: dict[str, Any] = json.loads(body[start:end])
        if header["key"] != key:  # an entry copied to another name
            return None
        blobs: dict[str, bytes] = {}
        for name, size in cast("list[tuple[str, int]]", header["blobs"]):
            blobs[name] = body[end : end + size]
            end += size
    except (ValueError, KeyError, TypeError):  # written by something else, digest and all
        return None
    return blobs if end == len(body) else None


def _names(path: Path) -> tuple[str, ...] | None:
    """The names of an entry's blobs, from its header only; None for a damaged one."""
    try:
        with path.open("rb") as f:
            if f.read(len(_MAGIC)) != _MAGIC:
                return None
            (size,) = _HEADER.unpack(f.read(_HEADER.size))
            header: dict[str, Any] = json.loads(f.read(min(size, 1 << 20)))
            return tuple(str(name) for name, _ in header["blobs"])
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return None


def _write_atomically(path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, suffix=_TEMPORARY)
    try:
        with os.fdopen(descriptor, "wb") as f:
            f.write(data)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


_caches: dict[tuple[Path | None, int], DiskCache] = {}
_caches_lock = threading.Lock()


def default_cache() -> DiskCache:
    """The cache that the knobs describe; with the cache switched off, one that keeps nothing."""
    directory = default_directory() if KNOBS.cache_enabled else None
    key = (directory, KNOBS.cache_size_mb << 20)
    with _caches_lock:
        if key not in _caches:
            _caches[key] = DiskCache(*key)
        return _caches[key]
