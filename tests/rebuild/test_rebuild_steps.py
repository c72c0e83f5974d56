"""Every step as its notebook and as its command, in order, on the same conference: both give the same files."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import papermill
import pytest

from reclaim_nb import cli
from reclaim_nb.data import data_folder
from reclaim_nb.papers.suite import load_suite
from reclaim_nb.rebuild import review
from reclaim_nb.rebuild.extract import Reader, reading
from reclaim_nb.rebuild.folder import Folder
from reclaim_nb.rebuild.run import STEPS
from tests.agents.model_endpoint import Endpoint
from tests.rebuild.mini_conference import VENUE, Conference, note_id, reader
from tests.rebuild.test_rebuild_conference import results

# The first test waits for ten kernels and as many commands, on a loaded machine for minutes.
pytestmark = pytest.mark.timeout(900)

RECLAIM = Path(sys.executable).with_name("reclaim")
LIMIT = 7
COUNT = 4
SIGNED = (("ada", "Ada Rater"), ("bob", "Bob Rater"))


@pytest.fixture(scope="module")
def conference() -> Iterator[Conference]:
    with Conference() as made, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECLAIM_MIRROR", made.mirror)
        patch.setenv("RECLAIM_CONTACT", "mailto:rebuild@example.org")
        yield made


def here(*words: object, code: int = 0) -> str:
    """Run ``reclaim rebuild`` in this process, which is quicker, and return what it says."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        assert cli.main(["rebuild", *map(str, words)]) == code, told.getvalue()
    return told.getvalue()


def reclaim(*words: object, code: int = 0, **environment: str) -> str:
    """Run ``reclaim rebuild`` as a process of its own and return what it says."""
    done = subprocess.run(
        [str(RECLAIM), "rebuild", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=150,
        env=os.environ | environment,
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def commanded(conference: Conference, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rebuild that was made by commands alone, from collecting to the frozen suite."""
    path = tmp_path_factory.mktemp("commanded") / "mini"
    with Endpoint(reader(path)) as endpoint:
        options = ("--option", f"base_url={endpoint.url}", "--option", "retries=0")
        assert "7 done" in reclaim("collect", path, "--venue", VENUE, "--count", COUNT, "--seed", 4, "--limit", LIMIT)
        for step in ("match", "read", "probe"):
            assert f"{step}: 7 done, 0 done before, 0 refused, 0 later" in here(step, path)
        assert "draft: 7 done" in here("draft", path, "--model", "scripted:reader", *options)
    assert "select: 4 done" in here("select", path)
    for rater, name in SIGNED:
        for paper in review.chosen(Folder(path)):
            words = ("--rater", rater, "--signature", name, "--decision", "accept", "--paper", paper)
            told = here("review", path, *words)
    assert "0 of 4 cards wait for bob" in told and "4 decided alike" in told
    assert "selftest: 4 done, 0 done before, 0 refused" in here("selftest", path)
    assert "frozen: " in here("freeze", path)
    assert here("drift", path).count("as frozen") == 4
    return path


@pytest.fixture(scope="module")
def executed(conference: Conference, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same by the notebooks, executed by papermill."""
    root = tmp_path_factory.mktemp("executed")
    path, books = root / "mini", root / "books"
    books.mkdir()

    def execute(step: str, **parameters: object) -> None:
        template = data_folder("templates") / "rebuild" / f"{step}.ipynb"
        words = {"folder": str(path), **parameters}
        papermill.execute_notebook(
            str(template), str(books / f"{step}.ipynb"), words, kernel_name="python3", progress_bar=False
        )

    execute("collect", venue=VENUE, count=COUNT, seed=4, limit=LIMIT)
    for step in ("match", "read", "probe"):
        execute(step)
    with Endpoint(reader(path)) as endpoint:
        execute("draft", model="scripted:reader", options={"base_url": endpoint.url, "retries": 0})
    execute("select")
    for rater, name in SIGNED:
        for paper in review.chosen(Folder(path)):
            review.record(Folder(path), paper, rater, "accept", signature=name)
    for step in ("selftest", "freeze", "drift"):
        execute(step)
    return path, books


@pytest.mark.slow
def test_notebooks_and_commands_give_the_same_files(commanded: Path, executed: tuple[Path, Path]) -> None:
    by_commands, by_notebooks = results(commanded), results(executed[0])
    assert by_commands == by_notebooks
    kinds = {name.rpartition("/")[2].partition(".")[0] for name in by_commands}
    assert {"collect", "match", "read", "probe", "draft", "said", "review", "selftest", "select", "suite"} <= kinds
    assert len(load_suite(commanded / "suite" / "mini")) == COUNT
    assert {book.stem for book in executed[1].glob("*.ipynb")} == set(STEPS) - {"review"}
    said = json.loads((executed[1] / "match.ipynb").read_text())["cells"][-1]["outputs"][0]["text"]
    assert "match: 7 done, 0 done before, 0 refused, 0 later" in "".join(said)


def test_status_tells_where_a_rebuild_stands(commanded: Path) -> None:
    told = reclaim("status", commanded)
    assert f"{VENUE}: 7 papers" in told and "draft: 7 done" in told and "selected: 4 card" in told
    found = json.loads(here("status", commanded, "--json"))
    assert found["steps"]["selftest"] == {"done": 4} and found["frozen"].endswith("suite/mini")
    assert "begins a rebuild" in here("status", commanded / "none", code=1)


def test_a_step_done_before_is_not_done_again(commanded: Path, conference: Conference) -> None:
    asked = sum(conference.asked.values())
    before = results(commanded)
    assert "read: 0 done, 7 done before" in here("read", commanded)
    assert "draft: 0 done, 7 done before" in here("draft", commanded)
    assert "is there already" in here("freeze", commanded, code=1)
    assert sum(conference.asked.values()) == asked and results(commanded) == before


def test_a_service_that_cannot_be_reached_is_said_and_the_step_goes_on_later(
    conference: Conference, commanded: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mini"
    nowhere = {"RECLAIM_MIRROR": "http://127.0.0.1:9"}
    words = ("collect", path, "--venue", VENUE, "--count", COUNT, "--seed", 4, "--limit", LIMIT)
    told = reclaim(*words, code=1, **nowhere)
    assert "OpenReview does not answer" in told and "run the same command again" in told
    assert "no papers are collected yet; `reclaim rebuild collect` comes first" in here("match", path, code=1)
    here(*words)
    told = reclaim("match", path, "--limit", 2, code=1, **nowhere)
    assert "match: 0 done, 0 done before, 0 refused, 2 later" in told and f"later {note_id(1)}: " in told
    assert "export.arxiv.org gave no answer before" in told and "run the same command again" in told
    assert "match: 2 done, 0 done before" in here("match", path, "--limit", 2)
    assert "match: 5 done, 2 done before" in here("match", path)
    ours = {name: digest for name, digest in results(path).items() if name.endswith("match.json")}
    assert ours == {name: digest for name, digest in results(commanded).items() if name.endswith("match.json")}


def test_a_terminal_is_shown_how_far_a_step_is(conference: Conference, commanded: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(commanded, tmp_path / "mini"))
    for file in path.glob("papers/*/match.json"):
        file.unlink()
    ours, theirs = pty.openpty()
    seen: list[bytes] = []

    def watch() -> None:
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other end is closed
                return
            if not piece:
                return
            seen.append(piece)

    watcher = threading.Thread(target=watch)
    watcher.start()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    try:
        done = subprocess.run(
            [str(RECLAIM), "rebuild", "match", str(path)], stdout=subprocess.PIPE, stderr=theirs, env=environment
        )
    finally:
        os.close(theirs)
        watcher.join(10)
        os.close(ours)
    assert done.returncode == 0
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(seen).decode())
    assert re.search(r"match .*[0-7]/7", shown), shown


def test_a_reader_leaves_no_thread_behind(commanded: Path, tmp_path: Path) -> None:
    folder = Folder(Path(shutil.copytree(commanded, tmp_path / "mini")))
    paper, text = folder.made(note_id(1), "collect"), folder.made(note_id(1), "read")
    assert paper is not None and text is not None
    question = (folder, note_id(1), paper.result["title"], text.result)
    with Endpoint(reader(commanded)) as endpoint:
        with reading("scripted:reader", {"base_url": endpoint.url, "retries": 0}) as model:
            assert isinstance(model, Reader) and model.read(*question, 3) is not None
            assert any(one.name.startswith("reader") for one in threading.enumerate())
        assert not any(one.name.startswith("reader") for one in threading.enumerate())
        with pytest.raises(RuntimeError, match="shutdown"):
            model.read(*question, 4)
    with reading(None) as none:
        assert none is None
