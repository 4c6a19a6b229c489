"""What a request tells about the visitor: where they are, and their language."""

from __future__ import annotations

from typing import Any

from .words import LANGUAGES

#: Set by the page itself (early_script.py), from the visitor's choice or the browser's language.
LANGUAGE_COOKIE = "spork_language"


def is_local(request: Any) -> bool:
    """Whether the visitor's browser runs on this machine, and was not forwarded by a proxy on it."""
    host = request.client.host if request.client else ""
    return host in ("127.0.0.1", "::1") and "x-forwarded-for" not in request.headers


def language_of(request: Any) -> str:
    """The page's language for this visitor; where cookies are kept from us, the browser's own."""
    chosen = request.cookies.get(LANGUAGE_COOKIE) or request.headers.get("accept-language") or ""
    code = chosen[:2].lower()
    return code if code in LANGUAGES else "en"
