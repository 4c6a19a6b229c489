"""The server ends when told to, whatever the model is doing."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.real_model
def test_an_interrupt_while_a_model_loads_ends_in_order():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "app.py", "--port", str(port), "--device", "cpu"], cwd=ROOT, text=True,
        # A shell's background job is born deaf to interrupts, and so would be its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        for line in server.stdout:
            if str(port) in line:
                break
        time.sleep(6)  # by now torch computes in the loading thread
        server.send_signal(signal.SIGINT)
        rest, _ = server.communicate(timeout=30)
    finally:
        server.kill()
    assert server.returncode == 0, rest
    assert "Traceback" not in rest and "terminate" not in rest
