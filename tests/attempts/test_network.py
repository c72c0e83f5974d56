"""What an attempt reaches under each network policy, and what the record says of it.

The internet is a server on this machine and a container beside it; nothing outside the machine is asked for.
"""

from __future__ import annotations

import asyncio
import http.server
import json
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attempt_helpers import Result, checked, run, tiny_paper, traces_of, wait_for
from in_step import let_go, told, until_let_go
from runner_process import BEGUN, RunnerProcess

from reclaim_nb.attempts.prepare import Request, prepare
from reclaim_nb.attempts.runner import resume_attempt
from reclaim_nb.errors import AttemptError, KernelError
from reclaim_nb.grading.collect import build_evidence
from reclaim_nb.grading.detectors.fetched import detect
from reclaim_nb.grading.vocabulary import interest_of
from reclaim_nb.kernels.images import engine
from reclaim_nb.kernels.leftovers import find_leftovers
from reclaim_nb.kernels.network_image import require_proxy_image
from reclaim_nb.kernels.network_sidecar import PROXY
from reclaim_nb.papers.card import PaperCard

pytestmark = pytest.mark.docker

HELLO = b"hello from the internet"


class _Page(http.server.BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(HELLO)))
        self.end_headers()
        self.wfile.write(HELLO)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Internet:
    """A web server of this machine as containers see it.

    Attributes:
        address, port: where a container finds it.
        neighbour: address of another container, which serves the same port.
    """

    def __init__(self, address: str, port: int, neighbour: str) -> None:
        self.address, self.port, self.neighbour = address, port, neighbour

    def entry(self, host: str) -> str:
        """Return the entry of an allow list that leads to it under a name."""
        return f"{host}:{self.port}={self.address}"


@pytest.fixture(scope="module")
def internet(docker: str) -> Iterator[Internet]:
    try:
        require_proxy_image()
    except KernelError as problem:
        pytest.skip(f"the image of the proxy cannot be built here: {problem}")
    client = engine()
    server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    neighbour = client.containers.run(
        "reclaim-kernel:0.1.0", ["python", "-m", "http.server", str(port)], detach=True, entrypoint=[], network="bridge"
    )
    try:
        neighbour.reload()
        bridge = neighbour.attrs["NetworkSettings"]["Networks"]["bridge"]
        yield Internet(bridge["Gateway"], port, bridge["IPAddress"])
    finally:
        neighbour.remove(force=True)
        server.shutdown()
        server.server_close()
        client.close()


SETUP = """
import concurrent.futures, json, os, socket, urllib.request
def outcome(action):
    try:
        answer = action()
        return answer if isinstance(answer, str) else "reached"
    except BaseException as problem:
        return f"refused: {type(problem).__name__}: {problem}"
def get(url, proxy=True):
    opener = urllib.request.build_opener(*([] if proxy else [urllib.request.ProxyHandler({})]))
    return outcome(lambda: opener.open(url, timeout=6).read().decode())
def connect(*targets):
    with concurrent.futures.ThreadPoolExecutor() as pool:  # each waits for seconds until nobody has answered
        tried = pool.map(lambda to: outcome(lambda: socket.create_connection(to, 6)), targets)
        return dict(zip([host for host, _ in targets], tried))
def proxied(request):
    with socket.create_connection((os.environ["HTTP_PROXY"].split("/")[2].split(":")[0], 3128), 6) as link:
        link.sendall(request.encode())
        return link.recv(200).decode("latin-1")
PORT = {port}
"""

LATE = f"""import urllib.request
{until_let_go()}
try: urllib.request.urlopen("http://late.test/")
finally: open("done", "w").close()
"""

CELLS = {
    "allowed": "print(get(f'http://allowed.test:{PORT}/data.csv?rows=3'))",
    "tunnel": "print(proxied(f'CONNECT allowed.test:{PORT} HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n'))",
    "other host": "print(get(f'http://elsewhere.test:{PORT}/weights.bin'))",
    "other port": "print(get('http://allowed.test:9/'))",
    "blocked": "print(get('http://code.lab.test/authors/toy-code/archive/main.zip'))",
    "address": "print(get(f'http://{HOST}:{PORT}/'), get(f'http://{NEIGHBOUR}:{PORT}/'))",
    "forged": "print(proxied(f'GET http://elsewhere.test:{PORT}/ HTTP/1.1\\r\\n'"
    "f'Host: allowed.test:{PORT}\\r\\n\\r\\n'))",
    "manager": "print(proxied('GET http://127.0.0.1:3128/squid-internal-mgr/info HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'))",
    "address of IPv6": "print(get(f'http://[2001:db8::1]:{PORT}/'))",
    "direct": "print(json.dumps(connect((HOST, PORT), (NEIGHBOUR, PORT), ('192.0.2.7', 443), (OTHER, 3128))))",
    "without the proxy": "print(get(f'http://192.0.2.8:{PORT}/', proxy=False))",
    "name": "print(outcome(lambda: socket.getaddrinfo('allowed.test', 80)))",
    "IPv6": "print(json.dumps(connect(('2001:db8::2', 443))))",
    "datagram": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.53', 53))\n"
    "s.send(b'?'); s.settimeout(1); print(outcome(lambda: s.recv(9)))",
    "quiet": "print(1 + 1)",
    "left behind": "import subprocess, sys\n"
    f"subprocess.Popen([sys.executable, '-c', {LATE!r}], stderr=subprocess.DEVNULL)",
    "later": "open('go', 'w').close()\n" + until_let_go("done"),
}

REACHED = ("allowed", "tunnel")


@pytest.fixture(scope="module")
def listed(internet: Internet, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Return one attempt under an allow list, in which every way out was tried."""
    folder = tmp_path_factory.mktemp("listed")
    paper = tiny_paper(
        folder,
        network={"allow": [internet.entry("allowed.test"), ".lab.test"], "block": ["https://code.lab.test/authors"]},
        links={"code": ["https://github.com/authors/toy-code"]},
    )
    client = engine()
    name = f"reclaim-test-{uuid.uuid4().hex[:8]}"
    second = client.networks.create(name, internal=True)
    other = client.containers.run("reclaim-kernel:0.1.0", ["sleep", "300"], detach=True, entrypoint=[], network=name)
    try:
        other.reload()
        address = other.attrs["NetworkSettings"]["Networks"][name]["IPAddress"]
        given = {"HOST": internet.address, "NEIGHBOUR": internet.neighbour, "OTHER": address}
        setup = SETUP.replace("{port}", str(internet.port))
        setup += "\n".join(f"{name} = {value!r}" for name, value in given.items())
        return run(folder, {"setup": setup, **CELLS}, "docker", paper=paper, network="allowlist")
    finally:
        other.remove(force=True)
        second.remove()
        client.close()


def entries(result: Result, case: str) -> list[dict[str, Any]]:
    """Return what the network log says of a case."""
    cell = result.cells[case]["id"]
    return [entry for entry in result.of("network") if entry["cell"] == cell]


class TestAllowList:
    def test_every_cell_ran(self, listed: Result) -> None:
        assert {case: listed.status(case) for case in CELLS} == dict.fromkeys(CELLS, "ok")
        assert listed.reason == "agent_stopped"

    def test_a_listed_host_is_reached(self, listed: Result, internet: Internet) -> None:
        assert listed.printed("allowed").strip() == HELLO.decode()
        (entry,) = entries(listed, "allowed")
        assert (entry["via"], entry["host"], entry["port"]) == ("proxy", "allowed.test", internet.port)
        assert (entry["path"], entry["status"], entry["allowed"]) == ("/data.csv?rows=3", 200, True)
        assert entry["bytes_in"] >= len(HELLO)
        assert entry["address"] == internet.address
        assert "200" in listed.printed("tunnel").splitlines()[0]

    @pytest.mark.parametrize(
        ("case", "host", "reason"),
        [
            ("other host", "elsewhere.test", "not on the list"),
            ("other port", "allowed.test", "port 9 is not on the list"),
            ("blocked", "code.lab.test", "the card blocks code.lab.test"),
            ("forged", "elsewhere.test", "not on the list"),
            ("manager", "127.0.0.1", "not on the list"),
            ("address of IPv6", "2001:db8::1", "not on the list"),
        ],
    )
    def test_all_else_is_refused_by_the_proxy(self, listed: Result, case: str, host: str, reason: str) -> None:
        assert "403" in listed.printed(case)
        assert HELLO.decode() not in listed.printed(case)
        (entry,) = entries(listed, case)
        assert (entry["via"], entry["host"], entry["allowed"], entry["reason"]) == ("proxy", host, False, reason)

    def test_addresses_are_no_way_round_the_names(self, listed: Result, internet: Internet) -> None:
        assert listed.printed("address").count("403") == 2
        assert [entry["host"] for entry in entries(listed, "address")] == [internet.address, internet.neighbour]
        assert not any(entry["allowed"] for entry in entries(listed, "address"))

    def test_nothing_is_reached_past_the_proxy(self, listed: Result, internet: Internet) -> None:
        """This machine, a container beside it, the world, and a container of another internal network."""
        found = json.loads(listed.printed("direct"))
        assert len(found) == 4
        assert all(text.startswith("refused:") for text in found.values()), found
        seen = {entry["host"] for entry in entries(listed, "direct") if entry["via"] == "direct"}
        unseen = {entry["reason"] for entry in entries(listed, "direct") if entry["host"] is None}
        assert set(found) == seen or unseen, "with a route the far end is seen, without one the tries are counted"

    @pytest.mark.parametrize("case", ["without the proxy", "IPv6", "datagram"])
    def test_tries_past_the_proxy_stand_in_the_record(self, listed: Result, case: str) -> None:
        assert "refused:" in listed.printed(case)
        found = [entry for entry in entries(listed, case) if entry["via"] == "direct"]
        assert found
        assert not any(entry["allowed"] for entry in found)
        assert all("past the proxy" in entry["reason"] for entry in found)

    def test_there_are_no_names(self, listed: Result) -> None:
        """Not even that of a listed host: a resolver would be a way out."""
        assert "refused: gaierror" in listed.printed("name")
        (entry,) = entries(listed, "name")
        assert (entry["via"], entry["host"], entry["allowed"]) == ("name", "allowed.test", False)

    def test_a_request_belongs_to_the_cell_that_ran_when_it_was_made(self, listed: Result) -> None:
        assert entries(listed, "quiet") == []
        assert entries(listed, "left behind") == []
        (entry,) = entries(listed, "later")
        assert entry["host"] == "late.test"
        assert all(entry["cell"] is not None for entry in listed.of("network"))

    def test_the_spec_says_what_was_allowed_and_blocked_and_by_which_image(self, listed: Result) -> None:
        facts = listed.of("attempt")[0]["spec"]["kernel"]
        assert facts["network"] == "allowlist"
        assert facts["allow"][1] == ".lab.test"
        assert facts["block"] == ["https://code.lab.test/authors", "https://github.com/authors/toy-code"]
        assert facts["proxy_digest"] == require_proxy_image().id
        assert "github.com/authors" not in listed.folder.notebook.read_text(), "notebooks are shown around"

    def test_a_grader_reads_log_and_block_list(self, listed: Result) -> None:
        card = PaperCard.model_validate(listed.of("attempt")[0]["spec"]["card"])
        evidence = build_evidence(listed.events, listed.folder.store(), interest_of(card))
        assert len(evidence.network) == len(listed.of("network")) > 10
        assert "https://code.lab.test/authors" in card.blocked
        assert detect(evidence, card, None) == [], "what was refused was not fetched"

    def test_nothing_is_left(self, listed: Result) -> None:
        attempt = listed.of("attempt")[0]["spec"]["id"]
        assert traces_of(attempt) == []
        assert networks_of(attempt) == []


def test_with_an_open_network_all_is_reached(internet: Internet, tmp_path: Path) -> None:
    cells = {
        "get": "import urllib.request\n"
        f"print(urllib.request.urlopen('http://{internet.address}:{internet.port}/', timeout=6).read())"
    }
    result = run(tmp_path, cells, "docker", network="open")
    assert HELLO.decode() in result.printed("get")
    assert result.of("network") == []


def test_without_a_network_nothing_is_reached(internet: Internet, tmp_path: Path) -> None:
    cells = {
        "get": "import urllib.request\ntry: urllib.request.urlopen("
        f"'http://{internet.address}:{internet.port}/', timeout=6)\n"
        "except OSError as problem: print('refused', problem)"
    }
    result = run(tmp_path, cells, "docker", network="none")
    assert result.printed("get").startswith("refused")
    assert result.of("attempt")[0]["spec"]["kernel"]["network"] == "none"


class TestRefused:
    def test_a_list_without_the_policy(self, tmp_path: Path) -> None:
        with pytest.raises(AttemptError, match="network=allowlist"):
            prepare(Request(paper=str(tiny_paper(tmp_path)), kernel="local", runs=str(tmp_path), allow=("a.example",)))

    def test_the_policy_for_a_plain_process(self, tmp_path: Path) -> None:
        with pytest.raises(AttemptError, match="needs a container"):
            prepare(Request(paper=str(tiny_paper(tmp_path)), kernel="local", runs=str(tmp_path), network="allowlist"))

    def test_allowing_what_the_card_blocks(self, internet: Internet, tmp_path: Path) -> None:
        paper = tiny_paper(tmp_path, network={"block": ["https://github.com/authors/toy-code"]})
        with pytest.raises(AttemptError, match=r"the card blocks github\.com"):
            prepare(
                Request(
                    paper=str(paper),
                    kernel="docker",
                    runs=str(tmp_path / "runs"),
                    network="allowlist",
                    allow=("github.com",),
                )
            )
        assert not (tmp_path / "runs").exists()


GET = "import urllib.request; print(urllib.request.urlopen('http://allowed.test:{port}/{path}', timeout=9).read())"


class TestKilledRunner:
    def test_resumed_with_its_proxy(self, internet: Internet, tmp_path: Path) -> None:
        """What was asked for while no runner was there is in the record, under the cell that asked."""
        away = f"print('begun')\n{until_let_go()}" + GET.format(port=internet.port, path="away")
        cells = {"before": GET.format(port=internet.port, path="before"), "away": away}
        cells["after"] = GET.format(port=internet.port, path="after")
        allow = [internet.entry("allowed.test")]
        runner = RunnerProcess(tmp_path, cells, "docker", BEGUN, network="allowlist", allow=allow)
        runner.wait_frozen()
        runner.kill()
        let_go(runner.path)
        wait_for(lambda: "/away" in _Page.asked, "the request while no runner is there")
        result = checked(resume_attempt(runner.path))
        assert result.reason == "agent_stopped"
        assert HELLO.decode() in result.printed("after")
        asked = [(entry["cell"], entry["path"]) for entry in result.of("network")]
        assert asked == [(result.cells[case]["id"], f"/{case}") for case in ("before", "away", "after")]
        assert result.of("note") == []
        assert networks_of(runner.attempt) == []

    def test_resumed_without_its_proxy(self, internet: Internet, tmp_path: Path) -> None:
        cells = {"waits": "import time; print('begun'); time.sleep(2)"}
        cells["after"] = GET.format(port=internet.port, path="after")
        allow = [internet.entry("allowed.test")]
        runner = RunnerProcess(tmp_path, cells, "docker", BEGUN, network="allowlist", allow=allow)
        runner.wait_frozen()
        runner.kill()
        client = engine()
        label = f"org.reclaim.attempt={runner.attempt}"
        (proxy,) = client.containers.list(filters={"label": [PROXY, label]})
        proxy.remove(force=True)
        client.close()
        result = checked(resume_attempt(runner.path))
        assert HELLO.decode() in result.printed("after"), "the proxy has come back under its address"
        assert [note["text"] for note in result.of("note")] == ["the proxy had ended and was started again"]
        assert networks_of(runner.attempt) == []

    def test_cleaned_up(self, internet: Internet, tmp_path: Path) -> None:
        runner = RunnerProcess(
            tmp_path, {"waits": "import time; print('begun'); time.sleep(600)"}, "docker", network="allowlist"
        )
        runner.wait('"text":"begun')
        runner.kill()
        assert networks_of(runner.attempt)
        (leftover,) = [one for one in find_leftovers() if one.attempt == runner.attempt]
        assert (leftover.kind, leftover.proxy) == ("container", True)
        leftover.remove()
        assert traces_of(runner.attempt) == []
        assert networks_of(runner.attempt) == []


def test_a_proxy_that_dies_is_told_of(internet: Internet, tmp_path: Path) -> None:
    noticed = told("the proxy was removed from outside")

    async def agent(session: Any) -> None:
        client = engine()
        label = f"org.reclaim.attempt={session.spec.id}"
        (proxy,) = client.containers.list(filters={"label": [PROXY, label]})
        proxy.remove(force=True)
        client.close()
        async with asyncio.timeout(60):
            while not noticed(session):
                await asyncio.sleep(0.05)
        await session.run_cell("1")

    result = run(tmp_path, agent, "docker", network="allowlist")
    assert result.reason == "agent_stopped"
    (note,) = result.of("note")
    assert note["text"] == "the proxy was removed from outside; from now on nothing can be reached"


def networks_of(attempt: str) -> list[str]:
    client = engine()
    try:
        found = client.api.networks(filters={"label": f"org.reclaim.attempt={attempt}"})
    finally:
        client.close()
    return [network["Name"] for network in found]
