"""The host's options: what is read, and how a bad one is refused."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ui.settings import Settings, check_address, read_settings

APP = Path(__file__).resolve().parents[2] / "app.py"


def test_defaults():
    assert read_settings([], {}) == Settings()


def test_options_are_read():
    settings = read_settings(
        ["--host", "0.0.0.0", "--port", "8000", "--models", "qwen3-0.6b, b/c,qwen3-0.6b", "--device", "cuda:1", "--dtype", "bfloat16", "--draft-model", "b/d", "--quantize", "int8",
         "--max-prompt-chars", "10", "--max-new-tokens", "20", "--max-runs", "2", "--max-queue", "0", "--max-sweep-seconds", "9",
         "--root-path", "/spork", "--open"],
        {},
    )  # fmt: skip
    assert settings == Settings(
        "0.0.0.0", 8000, "/spork", ("qwen3-0.6b", "b/c"), "b/d", "cuda:1", "bfloat16", "int8", 10, 20, 2, 0, 9, True
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
        (["--models", ","], "names no model"),
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


def test_an_address_that_cannot_be_listened_on_ends_with_one_line(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for settings in (Settings(port=taken.getsockname()[1]), Settings(host="999.1.1.1", port=7995)):
            with pytest.raises(SystemExit) as stop:
                check_address(settings)
            err = capsys.readouterr().err
            assert stop.value.code == 2 and err.count("\n") == 1 and "cannot listen" in err


def test_an_unknown_model_is_refused_at_the_door(capsys):
    with pytest.raises(SystemExit) as stop:
        read_settings(["--models", "zz"], {})
    assert stop.value.code == 2
    assert "smollm2-135m" in capsys.readouterr().err
