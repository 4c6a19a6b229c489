"""A few lines of script before gradio's own: the language, and what gradio 6.31 does sixty times a second.

Language: gradio translates its controls into `navigator.language` and offers no other way to
choose. A visitor's own choice (the link's `lang`, else what the switch stored) therefore stands
in for it; the page's scripts read `window.sporkLanguage`, and the server reads the cookie.

Frames: gradio's loading indicator counts its seconds in an animation-frame loop, and the one shown while
the page loads is removed without ending its loop. So every page, idle or live, is awake on every
frame for good: measured at 6 % of a core with software rendering, beside an engine that wants
that core. This makes the counter tick once a second instead. Should gradio change, nothing
matches and nothing changes.
"""

from __future__ import annotations

from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SCRIPT = b"""<script>(() => {
  let stored = null;
  try { stored = localStorage.getItem("spork-language"); } catch (error) { /* storage is switched off */ }
  const chosen = new URLSearchParams(location.search).get("lang") || stored;
  const locale = chosen && (/^zh/i.test(chosen) ? "zh-CN" : "en");  // names gradio has tables of its own for
  if (locale) Object.defineProperty(navigator, "language", { get: () => locale });
  window.sporkLanguage = /^zh/i.test(navigator.language) ? "zh" : "en";
  document.documentElement.lang = navigator.language;
  document.cookie = `spork_language=${window.sporkLanguage}; path=/; SameSite=Lax`;

  const next = window.requestAnimationFrame.bind(window);
  const counter = /performance\\.now\\(\\)\\s*-.*\\/\\s*1e3/;
  window.requestAnimationFrame = (callback) =>
    counter.test(Function.prototype.toString.call(callback)) ? setTimeout(() => next(callback), 1000) : next(callback);
})();</script>"""


class EarlyScript:
    """ASGI middleware that puts SCRIPT at the head of the page itself; all else passes untouched."""

    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].endswith("/"):
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        parts: list[bytes] = []

        async def held(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                if not _is_html(message):
                    await send(message)
                return
            if start is None or not _is_html(start):
                await send(message)
                return
            parts.append(message.get("body", b""))
            if not message.get("more_body"):
                body = b"".join(parts).replace(b"<head>", b"<head>" + SCRIPT, 1)
                await send({**start, "headers": _with_length(start["headers"], len(body))})
                await send({"type": "http.response.body", "body": body})

        await self._app(scope, receive, held)


def _is_html(start: Message) -> bool:
    return dict(start["headers"]).get(b"content-type", b"").startswith(b"text/html")


def _with_length(headers: Any, length: int) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in headers if name.lower() != b"content-length"]
    return [*kept, (b"content-length", str(length).encode())]
