"""Where fetched models live on this machine, and folders that appear whole or not at all.

The contract: whatever stands under `cache_root()` outside `tmp/` is finished. Work in progress
lies in `tmp/` and is renamed into place, so an interrupted set-up or two processes at once leave
nothing that looks done and is not.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from .errors import ModelError

#: Work folders older than this belong to a process that was killed.
_STALE_SECONDS = 24 * 3600


def cache_root() -> Path:
    """The cache folder: $SPORK_CACHE, else $XDG_CACHE_HOME/spork, else ~/.cache/spork."""
    if own := os.environ.get("SPORK_CACHE"):
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "spork"


@contextmanager
def staging() -> Iterator[Path]:
    """A new work folder on the cache's own file system, removed on the way out.

    Raises ModelError when the cache cannot be written, or when the body runs out of disk.
    """
    root = cache_root()
    try:
        (root / "tmp").mkdir(parents=True, exist_ok=True)
        _sweep(root / "tmp")
        folder = Path(tempfile.mkdtemp(dir=root / "tmp"))
    except OSError as error:
        raise ModelError(_cannot_write(root, error)) from None
    try:
        yield folder
    except OSError as error:
        if is_disk_full(error):
            raise ModelError(_cannot_write(root, error)) from None
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put_in_place(finished: Path, target: Path, keep: bool) -> None:
    """Rename `finished` (in a staging folder) to `target`.

    `keep`: what already stands at `target`, made by another process meanwhile, is good and stays;
    otherwise it is moved aside and goes away with the staging folder.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        if keep:
            return
        os.replace(target, finished.with_name(finished.name + ".old"))
    try:
        os.replace(finished, target)
    except OSError:
        if not target.exists():  # another process won the race between the two lines above
            raise


def is_disk_full(error: BaseException) -> bool:
    """Whether an exception, from whichever layer, says that the disk or a quota is full."""
    code = getattr(error, "errno", None)
    return code in (errno.ENOSPC, errno.EDQUOT) or says_disk_full(str(error))


def says_disk_full(text: str) -> bool:
    """Whether a message from another program or library says so."""
    return "No space left on device" in text or "Disk quota exceeded" in text


def _cannot_write(root: Path, error: OSError) -> str:
    why = "the disk is full" if is_disk_full(error) else (error.strerror or str(error))
    return f"cannot write to the model cache {root}: {why}; free some space or set SPORK_CACHE to another folder"


def _sweep(tmp: Path) -> None:
    for folder in tmp.iterdir():
        try:
            if time.time() - folder.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            pass  # its owner removed it first
