"""The disk cache of compiled functions: on by default, keyed by content, safe for many processes, of bounded size.

An entry is one file named by the digest of all it depends on, written under another name and renamed. The folder is
WARPLOOM_CACHE_DIR, else the user's cache folder; WARPLOOM_CACHE=0 turns it off; WARPLOOM_CACHE_MEGABYTES bounds it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Optional

from .core import config

_FORMAT = 4


def directory() -> str:
    """The folder of the cache; it need not exist."""
    chosen = os.environ.get("WARPLOOM_CACHE_DIR") or config.WARPLOOM_CACHE_DIR
    if chosen:
        return os.path.join(chosen, "python")
    if sys.platform == "darwin":
        root = os.path.expanduser("~/Library/Caches")
    elif os.name == "nt":
        root = os.environ.get("LOCALAPPDATA", os.path.expanduser("~"))
    else:
        root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(root, "warploom", "python")


def enabled() -> bool:
    """Whether the cache is in use."""
    return os.environ.get("WARPLOOM_CACHE", str(config.WARPLOOM_CACHE)) != "0"


def _path(digest: str) -> str:
    return os.path.join(directory(), digest[:2], digest[2:] + ".wlk")


def load(digest: str) -> Optional[Any]:
    """The value stored under a digest, or None. A damaged entry is removed."""
    import zlib

    path = _path(digest)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    try:
        value = json.loads(zlib.decompress(data))
        if value["format"] != _FORMAT:
            return None
    except (ValueError, KeyError, zlib.error):
        _remove(path)
        return None
    try:
        os.utime(path)  # the oldest are removed first, and this one is in use
    except OSError:
        pass
    return value["value"]


def store(digest: str, value: Any) -> None:
    """Store a JSON value under a digest. A folder that cannot be written is not an error."""
    import tempfile
    import zlib

    path = _path(digest)
    data = zlib.compress(json.dumps({"format": _FORMAT, "value": value}).encode(), 1)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except OSError:
            _remove(name)
            raise
    except OSError:
        return
    # One store in 32, chosen by the digest, looks after the size.
    if int(digest[:2], 16) % 32 == 0:
        trim(limit())


def limit() -> int:
    """Bytes that the cache may take: WARPLOOM_CACHE_MEGABYTES, else what `warploom cache limit` wrote, else 1 GiB."""
    megabytes = config.WARPLOOM_CACHE_MEGABYTES
    if megabytes < 0:
        try:
            with open(os.path.join(os.path.dirname(directory()), "limit"), encoding="ascii") as file:
                megabytes = int(file.read())
        except (OSError, ValueError):
            megabytes = 1024
    return megabytes << 20


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _entries():
    try:
        folders = [e.path for e in os.scandir(directory()) if e.is_dir()]
    except OSError:
        return
    for folder in folders:
        try:
            with os.scandir(folder) as files:
                for entry in files:
                    stat = entry.stat()
                    yield stat.st_mtime, stat.st_size, entry.path
        except OSError:
            continue


def trim(limit: int) -> None:
    """Remove the entries longest unused until the rest takes at most three quarters of `limit` bytes."""
    entries = sorted(_entries())
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, path in entries:
        if total <= limit * 3 // 4:
            break
        _remove(path)
        total -= size


def clear() -> None:
    """Remove all entries."""
    for _, _, path in list(_entries()):
        _remove(path)
