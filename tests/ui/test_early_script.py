"""The early script reaches the page itself and touches nothing else."""

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from ui.early_script import SCRIPT, EarlyScript

PAGE = "<html><head><title>x</title></head><body><head></body></html>"


async def chunks():
    for part in ("<html><he", "ad></head>", "</html>"):
        yield part


@pytest.fixture
def client():
    routes = [
        Route("/", lambda request: HTMLResponse(PAGE)),
        Route("/parts/", lambda request: StreamingResponse(chunks(), media_type="text/html")),
        Route("/data/", lambda request: JSONResponse({"head": "<head>"})),
        Route("/other", lambda request: HTMLResponse(PAGE)),
    ]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(EarlyScript)]))


def test_the_page_gets_it_first_and_once(client):
    answer = client.get("/")
    assert answer.content == PAGE.encode().replace(b"<head>", b"<head>" + SCRIPT, 1)
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_a_page_that_comes_in_parts(client):
    assert client.get("/parts/").content == b"<html><head>" + SCRIPT + b"</head></html>"


def test_all_else_passes(client):
    assert client.get("/data/").json() == {"head": "<head>"}
    assert client.get("/other").text == PAGE
    assert client.head("/").content == b""
    assert client.get("/missing/").status_code == 404
