"""The host's options: what is read, and how a bad one is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

from ui.settings import Settings, read_settings

APP = Path(__file__).resolve().parents[2] / "app.py"


def test_defaults():
    assert read_settings([], {}) == Settings()


def test_options_are_read():
    settings = read_settings(
        ["--host", "0.0.0.0", "--port", "8000", "--models", "a, b/c,a", "--device", "cuda:1", "--dtype", "bfloat16",
         "--max-prompt-chars", "10", "--max-new-tokens", "20", "--max-runs", "2", "--max-queue", "0",
         "--root-path", "/spork", "--open"],
        {},
    )  # fmt: skip
    assert settings == Settings(
        "0.0.0.0", 8000, "/spork", ("a", "b/c"), "cuda:1", "bfloat16", 10, 20, 2, 0, True
    )


def test_gradio_variables_give_the_address():
    environment = {"GRADIO_SERVER_NAME": "0.0.0.0", "GRADIO_SERVER_PORT": "9000", "GRADIO_ROOT_PATH": "/x"}
    settings = read_settings([], environment)
    assert (settings.host, settings.port, settings.root_path) == ("0.0.0.0", 9000, "/x")
    assert read_settings(["--port", "9001"], environment).port == 9001


@pytest.mark.parametrize(
    "arguments, word",
    [
        (["--port", "abc"], "1 to 65535"),
        (["--port", "0"], "1 to 65535"),
        (["--max-runs", "0"], "at least 1"),
        (["--max-queue", "-1"], "max-queue"),
        (["--device", "tpu"], "cuda"),
        (["--dtype", "int8"], "bfloat16"),
        (["--models", ","], "Hub id"),
        (["--models", "a b"], "Hub id"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_a_bad_option_is_one_line_and_exit_code_2(arguments, word, capsys):
    with pytest.raises(SystemExit) as left:
        read_settings(arguments, {})
    said = capsys.readouterr().err
    assert left.value.code == 2
    assert said.count("\n") == 1 and word in said


def test_a_bad_port_variable_is_refused_too(capsys):
    with pytest.raises(SystemExit) as left:
        read_settings([], {"GRADIO_SERVER_PORT": "many"})
    assert left.value.code == 2 and "many" in capsys.readouterr().err


def test_help_answers_without_loading_torch_or_gradio():
    code = f"""
import runpy, sys
sys.argv = ["app.py", "--help"]
try:
    runpy.run_path({str(APP)!r}, run_name="__main__")
except SystemExit as left:
    assert left.code == 0
assert not {{"torch", "gradio"}} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=APP.parent)
    assert done.returncode == 0, done.stderr
    assert "--max-new-tokens" in done.stdout
