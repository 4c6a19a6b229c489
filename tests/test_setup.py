"""run.sh and the requirements: set-up on a bare machine, with stand-ins for what it calls.

Each test gets a copy of run.sh and a PATH that holds the few tools it needs and nothing else, so
whether apt-get, sudo, a Python or a Chromium is there is the test's to say.
"""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
TOOLS = ("bash", "cat", "cmp", "cp", "dirname", "env", "mkdir", "rm", "chmod")

#: Stands for Python: logs its arguments, makes a .venv with itself in it, and fails where told.
FAKE_PYTHON = """#!/bin/bash
echo "python $*" >>"$LOG"
fails() { [[ " ${FAIL:-} " == *" $1 "* ]]; }
case "$*" in
    "--version") echo "Python 3.12.1" ;;
    "-c import sys; sys.exit"*) ! fails old ;;
    "-c import sys; print"*) echo python3.12-venv ;;
    "-m venv .venv")
        mkdir -p .venv/bin
        if fails venv && [ ! -e "$HOME/apt-installed" ]; then exit 1; fi
        cp "$0" .venv/bin/python ;;
    "-m pip --version") ! fails pip ;;
    "-m pip install"*) ! fails install ;;
    "-m playwright"*) ! fails playwright ;;
    "-c from playwright"*) echo /own/chrome ;;
    "-") ! fails fetch ;;
    "-m pytest"*) echo "CHROMIUM ${SPORK_CHROMIUM:-}"; ! fails pytest || exit 3
        case "$*" in *"not browser"*) exit "${ENGINE_END:-0}" ;; *) exit "${PAGE_END:-0}" ;; esac ;;
    "app.py"*) echo "APP $*"; ! fails app || exit 4 ;;
    *) exit 99 ;;
esac
"""


ENGINE = "-n 2 --dist worksteal -m not browser"
PAGE = "-n 2 --dist worksteal -m browser"


class Machine:
    """A folder with run.sh in it, and a PATH of stand-ins."""

    def __init__(self, folder: Path) -> None:
        self.home, self.bin = folder / "a house", folder / "bin"
        self.home.mkdir()
        self.bin.mkdir()
        self.log = folder / "log"
        for name in ("run.sh", "requirements.txt", "requirements-test.txt"):
            shutil.copy(ROOT / name, self.home)
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.command("python3", FAKE_PYTHON)
        self.command("id", "#!/bin/bash\necho 0\n")
        self.command("chromium", "#!/bin/bash\n")

    def command(self, name: str, script: str) -> None:
        (self.bin / name).write_text(script)
        (self.bin / name).chmod(0o755)

    def apt(self, effect: str = "") -> None:
        self.command("apt-get", f'#!/bin/bash\necho "apt-get $*" >>"$LOG"\n[ "$1" = update ] && exit\n{effect}\n')

    def run(self, *arguments: str, script: str = "run.sh", **environment: str) -> subprocess.CompletedProcess:
        """Run it; `calls` are then the commands it ran, oldest first."""
        self.log.write_text("")
        done = subprocess.run(
            [self.bin / "bash", script, *arguments],
            cwd=self.home,
            env={"PATH": str(self.bin), "HOME": str(self.home), "LOG": str(self.log)} | environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )
        self.calls = self.log.read_text().splitlines()
        return done

    def did(self, start: str) -> bool:
        return any(call.startswith(start) for call in self.calls)


@pytest.fixture
def machine(tmp_path) -> Machine:
    return Machine(tmp_path)


def test_first_run_sets_up_and_starts_the_app(machine):
    done = machine.run("--port", "7861")
    assert done.returncode == 0 and done.stdout == "APP app.py --port 7861\n"
    order = ["-m venv .venv", "-m pip install", "-", "app.py --port 7861"]
    found = [next(i for i, call in enumerate(machine.calls) if call.startswith(f"python {step}") and (step != "-" or call == "python -")) for step in order]
    assert found == sorted(found)
    assert any(call.endswith("-r requirements.txt") for call in machine.calls)


def test_second_run_installs_nothing_and_a_changed_requirement_does(machine):
    machine.run()
    machine.run()
    assert not machine.did("python -m venv") and not machine.did("python -m pip install") and machine.did("python app.py")
    with open(machine.home / "requirements.txt", "a") as file:
        file.write("another>=1\n")
    machine.run()
    assert machine.did("python -m pip install") and not machine.did("python -m venv")


def test_interrupted_installation_is_taken_up_again(machine):
    done = machine.run(FAIL="install")
    assert done.returncode == 1 and "pip could not install requirements.txt" in done.stderr
    assert not machine.did("python app.py")
    assert machine.run().returncode == 0 and machine.did("python -m pip install") and not machine.did("python -m venv")


@pytest.mark.parametrize("harm", ["no python in it", "its python is gone", "no pip in it"])
def test_half_made_venv_is_made_anew(machine, harm):
    (machine.home / ".venv" / "bin").mkdir(parents=True)
    (machine.home / ".venv" / "leftover").touch()
    if harm == "its python is gone":
        (machine.home / ".venv" / "bin" / "python").symlink_to("/nowhere/python3")
    elif harm == "no pip in it":
        (machine.home / ".venv" / "bin" / "python").write_text(FAKE_PYTHON.replace("! fails pip ;", "exit 1 ;"))
        (machine.home / ".venv" / "bin" / "python").chmod(0o755)
    assert machine.run().returncode == 0
    assert machine.did("python -m venv") and not (machine.home / ".venv" / "leftover").exists()


def test_python_too_old_is_said_and_a_newer_one_is_found(machine):
    done = machine.run(FAIL="old")
    assert done.returncode == 1 and "older than 3.11" in done.stderr and done.stderr.count("\n") == 1
    machine.command("python3", "#!/bin/bash\nexit 1\n")
    machine.command("python3.13", FAKE_PYTHON)
    assert machine.run().returncode == 0
    assert "SPORK_PYTHON" in machine.run(SPORK_PYTHON="/no python", FAIL="old").stderr


def test_missing_venv_module_is_installed_by_root(machine):
    machine.apt('touch() { : >"$1"; }; touch "$HOME/apt-installed"')
    assert machine.run(FAIL="venv").returncode == 0
    assert "apt-get install -y -qq python3.12-venv" in machine.calls and machine.did("apt-get update")


def test_missing_venv_module_through_sudo(machine):
    machine.apt(': >"$HOME/apt-installed"')
    machine.command("id", "#!/bin/bash\necho 1000\n")
    machine.command("sudo", '#!/bin/bash\necho "sudo $1" >>"$LOG"\nexec "$@"\n')
    assert machine.run(FAIL="venv").returncode == 0
    assert machine.did("sudo apt-get") and machine.did("apt-get install -y -qq python3.12-venv")


@pytest.mark.parametrize("lacking", ["sudo", "apt-get"])
def test_missing_venv_module_that_cannot_be_installed(machine, lacking):
    if lacking == "sudo":
        machine.apt()
        machine.command("id", "#!/bin/bash\necho 1000\n")
    done = machine.run(FAIL="venv")
    assert done.returncode == 1 and lacking in done.stderr and "install python3.12-venv and start again" in done.stderr
    assert not machine.did("apt-get install")


def test_app_opens_without_a_model_and_the_tests_do_not(machine):
    done = machine.run(FAIL="fetch")
    assert done.returncode == 0 and "recorded runs" in done.stderr and done.stdout.startswith("APP")
    assert machine.run("test", FAIL="fetch").returncode != 0 and not machine.did("python -m pytest")


def test_a_desktop_gets_the_page_opened(machine):
    assert machine.run("--port", "1", DISPLAY=":0").stdout == "APP app.py --open --port 1\n"
    assert machine.run(WAYLAND_DISPLAY="wayland-0").stdout == "APP app.py --open\n"
    assert machine.run().stdout == "APP app.py\n"


def test_exit_code_of_the_app_is_passed_on(machine):
    assert machine.run(FAIL="app").returncode == 4


def test_tests_run_whole_with_the_browser_found(machine):
    done = machine.run("test")
    assert done.returncode == 0 and done.stdout == f"CHROMIUM {machine.bin / 'chromium'}\n" * 2
    # Between them every test, whatever its marks, and none twice.
    assert machine.calls[-2:] == [f'python -m pytest {ENGINE}', f'python -m pytest {PAGE}']
    assert any(call.endswith("-r requirements-test.txt") for call in machine.calls)


def test_failing_tests_fail_and_arguments_reach_pytest(machine):
    assert machine.run("test", "-k", "a b", FAIL="pytest").returncode == 3
    assert machine.calls[-2:] == [f"python -m pytest {ENGINE} -k a b", f"python -m pytest {PAGE} -k a b"]


@pytest.mark.parametrize("codes, expected", [("0 0", 0), ("1 0", 1), ("0 1", 1), ("5 0", 0), ("0 5", 0), ("5 5", 5), ("5 2", 2)])
def test_a_failure_in_either_half_fails_and_an_empty_half_does_not(machine, codes, expected):
    engine, page = codes.split()
    assert machine.run("test", ENGINE_END=engine, PAGE_END=page).returncode == expected


def test_ci_runs_the_tests_from_any_folder(machine):
    (machine.home / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", machine.home / ".ci")
    assert machine.run(script=str(machine.home / ".ci" / "run"), FAIL="pytest").returncode == 3
    assert machine.calls[-1] == f"python -m pytest {PAGE}"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_missing_chromium_is_installed(machine):
    (machine.bin / "chromium").unlink()
    chrome = machine.bin / "chromium"
    machine.apt(f'[ "$4" = chromium ] && cp {machine.bin}/id {chrome}')
    assert machine.run("test").stdout == f"CHROMIUM {chrome}\n" * 2
    assert "apt-get install -y -qq chromium" in machine.calls


def test_chromium_stub_that_does_not_answer_is_passed_over(machine):
    for name in ("chromium", "chromium-browser"):
        machine.command(name, "#!/bin/bash\necho 'install the snap' >&2\nexit 1\n")
    machine.command("google-chrome", "#!/bin/bash\n")
    assert machine.run("test").stdout == f"CHROMIUM {machine.bin / 'google-chrome'}\n" * 2


def test_without_any_chromium_playwright_brings_one_or_the_tests_do_not_start(machine):
    (machine.bin / "chromium").unlink()
    assert machine.run("test").stdout == "CHROMIUM /own/chrome\n" * 2
    done = machine.run("test", FAIL="playwright")
    assert done.returncode == 1 and "set SPORK_CHROMIUM" in done.stderr and not machine.did("python -m pytest")


def test_chromium_of_ones_own(machine):
    machine.command("my chrome", "#!/bin/bash\n")
    mine = str(machine.bin / "my chrome")
    assert machine.run("test", SPORK_CHROMIUM=mine).stdout == f"CHROMIUM {mine}\n" * 2
    done = machine.run("test", SPORK_CHROMIUM="/nowhere/chrome")
    assert done.returncode == 1 and "/nowhere/chrome, which does not run" in done.stderr


# --- what is installed ---


def requirements(name: str) -> list[Requirement]:
    lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-r ")]


ALL = requirements("requirements.txt") + requirements("requirements-test.txt")


@pytest.mark.parametrize("requirement", ALL, ids=lambda requirement: requirement.name)
def test_requirement_is_bounded_on_both_sides_and_met_here(requirement):
    assert requirement.url is None
    assert {spec.operator for spec in requirement.specifier} == {">=", "<"}
    version = importlib.metadata.version(requirement.name)
    assert requirement.specifier.contains(version, prereleases=True), version


#: Imported by name, and always there as a part of something that is required.
COMES_WITH = {"axe_playwright_python": "axe-playwright-python", 
    "typing_extensions": "pydantic",
    "huggingface_hub": "transformers",
    "tokenizers": "transformers",
    "packaging": "transformers",
    "psutil": "accelerate",
    "gradio_client": "gradio",
    "fastapi": "gradio",
    "starlette": "gradio",
    "uvicorn": "gradio",
    "httpx": "gradio",
    "PIL": "gradio",
}


#: Asked for by name where a person chooses what needs it; the tests have it.
OPTIONAL = {"torchao"}


def imported(file: Path) -> set[str]:
    """The top-level names a file imports from outside its own package."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level and node.module}
    return {name.partition(".")[0] for name in names}


def test_everything_imported_is_required():
    app = {requirement.name for requirement in requirements("requirements.txt")} | OPTIONAL
    tests = {requirement.name for requirement in ALL}
    known = {"spork", "ui", "tests", "app"} | set(sys.stdlib_module_names)
    for folder, required in (("spork", app), ("ui", app), ("tests", tests)):
        for file in (ROOT / folder).rglob("*.py"):
            names = {COMES_WITH.get(name, name) for name in imported(file) - known}
            assert names <= required, f"{file.relative_to(ROOT)} imports {names - required}"


def test_no_package_index_is_named_in_the_set_up():
    for name in ("run.sh", "requirements.txt", "requirements-test.txt", "pyproject.toml", ".ci/run"):
        text = (ROOT / name).read_text()
        assert not re.search(r"https?://|index-url|find-links|trusted-host", text), name


def test_python_bound_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11"
    assert "(3, 11)" in (ROOT / "run.sh").read_text()
    assert sys.version_info >= (3, 11)
