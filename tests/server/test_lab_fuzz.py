"""Anything may be sent to the addresses of ``openapi.yaml``: none fails, leads elsewhere, or tells a stranger."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab_papers import ATTEMPT, json_schema
from tornado.httpclient import HTTPClientError

import reclaim_nb.server

API = yaml.safe_load((Path(reclaim_nb.server.__file__).parent / "openapi.yaml").read_text("utf-8"))
SECRET = "what lies beside the folders"
OPERATIONS = [
    (address, method)
    for address, entry in API["paths"].items()
    for method in entry
    if method != "parameters" and not address.endswith("/events")
]


@dataclass(frozen=True)
class Sent:
    """One request."""

    address: str
    method: str
    path: str
    body: str | bytes | None


odd = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["..", ".", "%2e%2e", "..%2f..", "\x00", "x" * 300, "outside", "~", "'", '"', "<b>", "*"]),
)
names = st.one_of(
    st.just(ATTEMPT),
    st.lists(odd, min_size=1, max_size=7).map("/".join),
    st.tuples(st.sampled_from([1, 2, 3, 4, 5]), odd).map(
        lambda at: "/".join(at[1] if index == at[0] - 1 else part for index, part in enumerate(ATTEMPT.split("/")))
    ),
)
files = st.one_of(st.sampled_from(["plan.yaml", "runs", "../plan.yaml", "/etc/hosts.yaml", "link.yaml"]), odd)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=10), inner, max_size=3)),
    max_leaves=8,
)


ACTIONS = ["stop", "resume", "grade", "reexecute", "stop-reexecution"]


def bodies(address: str) -> st.SearchStrategy[Any]:
    """Return bodies that come close to what an address takes."""
    known: dict[str, st.SearchStrategy[Any]] = (
        {"action": st.sampled_from(ACTIONS), "whole": st.booleans()}
        if "actions" in address or "{batch}" in address
        else {"do": st.sampled_from(["submit", "close"]), "value": st.sampled_from(["1", ""]), "cell": odd, "note": odd}
        if "desk" in address
        else {"path": files}
        if address.endswith("batches")
        else {
            "paper": st.sampled_from(["tiny/good", "tiny/none", "small/iforest-breastw", "../x", "tiny/../good"]),
            "agent": st.sampled_from(["replay", "nothing", "command", "model", "none"]),
            "kernel": st.sampled_from(["local", "docker", "auto"]),
            "network": st.sampled_from(["none", "open"]),
            "batch": st.sampled_from(["lab", "..", "a/b", ".x"]),
            "budget_hours": st.floats(),
            "turns": st.integers(),
            "options": st.dictionaries(st.sampled_from(["notebook", "value", "x"]), values, max_size=2),
            "conditions": st.lists(st.sampled_from(["nudge", "luck"]), max_size=2),
        }
    )
    near = st.fixed_dictionaries({}, optional={name: st.one_of(good, values) for name, good in known.items()})
    return st.one_of(
        near.map(json.dumps),
        values.map(json.dumps),
        st.text(max_size=50).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.binary(max_size=50),
    )


@st.composite
def requests(draw: st.DrawFn) -> Sent:
    """Return a request to one of the addresses, with names and a body that may be anything."""
    address, method = draw(st.sampled_from(OPERATIONS))
    path = address.replace("{attempt}", draw(names)).replace("{suite}", draw(odd)).replace("{paper}", draw(odd))
    path = path.replace("{batch}", draw(st.one_of(odd, st.just("single"))))
    escaped = quote(path.encode("utf-8", "surrogatepass"), safe="/%" if draw(st.booleans()) else "/")
    query = draw(st.one_of(st.just(""), st.text(max_size=20).map(lambda text: f"?{quote(text)}")))
    if address.endswith(("/plan", "/plans")) and draw(st.booleans()):
        query = f"?path={quote(draw(files))}&folder={quote(draw(files))}"
    return Sent(address, method, escaped + query, draw(bodies(address)) if method == "post" else None)


@pytest.fixture
def beside(runs: Path, papers: Path) -> Path:
    """A file outside of the folders, and links from inside that lead to it."""
    outside = runs.parent.parent / "outside" / "01"
    outside.mkdir(parents=True, exist_ok=True)
    (outside / "stream.jsonl").write_text(SECRET, "utf-8")
    (runs / "single/tiny/good/outside").symlink_to(outside.parent)
    (outside / "plan.yaml").write_text(f"name: {SECRET}\nagents: [nothing]\npapers: [tiny/good]\n", "utf-8")
    (runs.parent / "link.yaml").symlink_to(outside / "plan.yaml")
    plan = "name: a plan\nagents: [nothing]\npapers: [tiny/good]\nsettings: {kernel: local}\n"
    (runs.parent / "plan.yaml").write_text(plan, "utf-8")
    return outside


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


async def ask(client: Any, url: str, sent: Sent, headers: dict[str, str]) -> tuple[int, bytes]:
    try:
        answer = await client.fetch(
            url, method=sent.method.upper(), body=sent.body, headers=headers, follow_redirects=False
        )
    except HTTPClientError as problem:
        return problem.code, problem.response.body if problem.response is not None else b""
    return answer.code, answer.body


@pytest.fixture
def jp_server_config(papers: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """As the others, but no attempt may be started."""
    monkeypatch.setenv("RECLAIM_PAPERS", "")
    return {
        "ServerApp": {"jpserver_extensions": {"reclaim_nb.server": True}},
        "ReclaimServer": {"papers_dirs": [str(papers)], "kernels": ["local"], "slots": 0},
    }


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False], ids=["with a token", "a stranger"])
def test_anything_may_be_sent(
    known: bool,
    http_server_client: Any,
    jp_serverapp: Any,
    jp_base_url: str,
    jp_auth_header: dict[str, str],
    jp_asyncio_loop: asyncio.AbstractEventLoop,
    runs: Path,
    papers: Path,
    beside: Path,
) -> None:
    before = everything(papers) | everything(beside)
    headers = jp_auth_header if known else {}

    @settings(max_examples=200, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(requests())
    def one(sent: Sent) -> None:
        url = jp_base_url.rstrip("/") + sent.path
        code, body = jp_asyncio_loop.run_until_complete(ask(http_server_client, url, sent, headers))
        told = body.decode("utf-8", "replace")
        assert SECRET not in told
        if not known:
            assert code in (302, 401, 403, 404, 405)  # 404 and 405: no such address
            assert ATTEMPT not in told and str(runs) not in told and str(papers) not in told
            return
        responses = API["paths"][sent.address][sent.method]["responses"]
        described = responses.get(str(code))
        # What no route takes is the server's own answer: a slash too many, bytes that are no text, no such address.
        assert described is not None or code in (302, 400, 403, 404, 405), (code, told)
        if described is not None and code < 300:
            model = described["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            jsonschema.validate(json.loads(told), json_schema(API, model))

    one()
    assert everything(papers) | everything(beside) == before
    assert [path.name for path in runs.iterdir() if path.is_dir()] == ["single"]
