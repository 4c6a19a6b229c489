"""A Hugging Face Hub of a few files, on this machine, for one test.

Answers what `model_info` and `snapshot_download` ask: the repository's entry, its tree, and each
file with the headers the client checks. `gated/...` needs terms accepted, `error/...` breaks;
any other repository but the one served is unknown.
"""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Iterator

SHA = "a" * 40


@contextmanager
def fake_hub(repo: str, files: dict[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    """Serve `files` as `repo`; yields the endpoint and the list of files fetched so far."""
    fetched: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path.startswith("/api/models/gated/"):
                self.answer(403, {"error": "gated"}, {"X-Error-Code": "GatedRepo"})
            elif path.startswith("/api/models/error/"):
                self.answer(500, {"error": "broken"})
            elif path in (f"/api/models/{repo}", f"/api/models/{repo}/revision/main"):
                siblings = [{"rfilename": name} for name in files]
                self.answer(200, {"id": repo, "modelId": repo, "sha": SHA, "siblings": siblings})
            elif path.startswith(f"/api/models/{repo}/tree/"):
                self.answer(
                    200,
                    [
                        {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                        for name, data in files.items()
                    ],
                )
            elif path.startswith(f"/{repo}/resolve/") and (name := path.split("/", 5)[5]) in files:
                if self.command == "GET":
                    fetched.append(name)
                self.answer(200, files[name], {"X-Repo-Commit": SHA})
            else:
                self.answer(404, {"error": "no"}, {"X-Error-Code": "RepoNotFound"})

        def answer(self, status: int, body, headers: dict[str, str] | None = None) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
            for key, value in (headers or {}).items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", fetched
    finally:
        server.shutdown()
        server.server_close()
