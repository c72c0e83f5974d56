"""Requests to the REST addresses as the tests make them, each answer held against ``openapi.yaml``."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from lab_papers import json_schema
from tornado.httpclient import HTTPClientError, HTTPResponse

import reclaim_nb.server

API = yaml.safe_load((Path(reclaim_nb.server.__file__).parent / "openapi.yaml").read_text("utf-8"))
Fetch = Callable[..., Awaitable[HTTPResponse]]
PATIENCE = {"request_timeout": 120.0}
"""Some answers come only once a process that has to be started has done its work."""


def schema(name: str) -> dict[str, Any]:
    return json_schema(API, name)


async def get(fetch: Fetch, address: str, model: str, **query: Any) -> dict[str, Any]:
    asked = {"params": {name: str(value) for name, value in query.items()}} if query else {}
    answer = json.loads((await fetch("reclaim", "api", *address.split("/"), **asked, **PATIENCE)).body)
    jsonschema.validate(answer, schema(model))
    found: dict[str, Any] = answer
    return found


async def refused(call: Awaitable[HTTPResponse]) -> tuple[int, str]:
    with pytest.raises(HTTPClientError) as caught:
        await call
    assert caught.value.response is not None
    answer = json.loads(caught.value.response.body)
    jsonschema.validate(answer, schema("Message"))
    return caught.value.code, answer["message"]


def post(fetch: Fetch, address: str, body: Any) -> Awaitable[HTTPResponse]:
    text = body if isinstance(body, str) else json.dumps(body)
    return fetch("reclaim", "api", *address.split("/"), method="POST", body=text, **PATIENCE)
