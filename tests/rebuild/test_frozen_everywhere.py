"""A frozen suite that is not as it was frozen is refused wherever a card of it, or an attempt at it, is used."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import papermill
import pytest

from reclaim_nb import cli
from reclaim_nb.analysis.frames import load_runs
from reclaim_nb.analysis.story import Story
from reclaim_nb.attempts.prepare import Request, prepare
from reclaim_nb.attempts.runner import resume_attempt, run_attempt
from reclaim_nb.batch.plan import declare, make_plan
from reclaim_nb.batch.pool import run_plan
from reclaim_nb.batch.settle import settle
from reclaim_nb.commands.running import grade_now
from reclaim_nb.data import data_folder
from reclaim_nb.errors import AttemptError, CardError, ReclaimError
from reclaim_nb.grading.model import ModelGrader, grade_with_model
from reclaim_nb.grading.model.grader import regrade
from reclaim_nb.grading.reexecute import grade_with_reexecution, reexecute
from reclaim_nb.grading.verdict import grade, replay
from reclaim_nb.papers.check import check_path
from reclaim_nb.papers.gold import enter_gold
from reclaim_nb.papers.loading import load_card
from reclaim_nb.papers.signature import SIGNERS_VARIABLE, public_key, sign
from reclaim_nb.papers.suite import find_paper, find_suite, load_suite, write_manifest
from reclaim_nb.papers.view import agent_view, as_markdown
from reclaim_nb.record.folder import AttemptFolder, open_folder
from reclaim_nb.record.reader import first_event
from tests.rebuild.frozen_suite import (
    OTHER,
    PAPER,
    TAMPERED,
    change,
    one_byte,
    one_digit,
    thawed,
    write_frozen,
)


@dataclass
class Site:
    """A frozen suite, attempts at it that were made before anybody tampered with it, and room for new ones."""

    place: Path
    card: Any
    ended: AttemptFolder
    cut: AttemptFolder
    new: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """The suite, a copy of it as it was published, and a runs folder with an attempt that has ended."""
    root = tmp_path_factory.mktemp("frozen")
    place, runs = write_frozen(root / "papers"), root / "made"
    shutil.copytree(place, root / "published")
    prepared = prepare(Request(paper=str(place / "good"), runs=str(runs), kernel="local"))
    grade_now(run_attempt(prepared).folder)
    return place, root / "published", runs


@pytest.fixture
def site(made: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    place, published, runs = made
    monkeypatch.setenv("RECLAIM_PAPERS", str(place.parent))
    monkeypatch.delenv("COLUMNS", raising=False)
    shutil.rmtree(place)
    shutil.copytree(published, place)
    shutil.copytree(runs, tmp_path / "made", ignore=shutil.ignore_patterns("*index*"))
    ended = open_folder(tmp_path / "made/single/tiny/good/replay/01")
    cut = AttemptFolder(Path(shutil.copytree(ended.path, tmp_path / "cut/single/tiny/good/replay/01")))
    lines = cut.stream.read_bytes().splitlines(keepends=True)
    cut.stream.write_bytes(b"".join(lines[: len(lines) // 2]))
    for path in cut.verdicts():
        path.unlink()
    return Site(place, find_paper(PAPER), ended, cut, tmp_path / "new")


def command(*words: object) -> Callable[[Site], None]:
    """Return an entry by the command line, with the site's places put in; it raises what the command says."""

    def call(site: Site) -> None:
        places = {"SUITE": site.place, "NEW": site.new, "ENDED": site.ended.path, "CUT": site.cut.path}
        told = io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = cli.main([str(places.get(str(word), word)) for word in words])
        assert code != 0, told.getvalue()
        raise ReclaimError(" ".join(told.getvalue().split()))

    return call


def by_papermill(site: Site) -> None:
    words = {"paper": PAPER, "agent": "nothing", "kernel": "local", "runs": str(site.new)}
    template = str(data_folder("templates") / "attempt.ipynb")
    papermill.execute_notebook(template, None, words, engine_name="reclaim", progress_bar=False, log_output=False)


def by_link(site: Site) -> None:
    link = site.new.parent / "paper.yaml"
    link.symlink_to(site.place / "good" / "paper.yaml")
    load_card(link)


def plan(**changes: Any) -> Any:
    raw = {"name": "b", "suite": "tiny", "agents": ["nothing"], "order": "given", "settings": {"kernel": "local"}}
    return make_plan(raw | changes)


def settled(site: Site) -> None:
    """An attempt of a batch that was begun, and that somebody tampers with before it is graded."""
    one = declare_anyway(site)
    shutil.copytree(site.ended.path, one.folder().path)
    for path in one.folder().verdicts():
        path.unlink()
    settle(one, 0)


def declare_anyway(site: Site) -> Any:
    changed = (site.place / "good" / "paper.yaml").read_bytes()
    (site.place / "good" / "paper.yaml").write_bytes(changed[:-1])
    one = declare(plan(), site.new)[0]
    (site.place / "good" / "paper.yaml").write_bytes(changed)
    return one


def graded_by_a_model(site: Site) -> None:
    grade_with_model(site.ended, site.card, ModelGrader("scripted:judge", {"base_url": "http://127.0.0.1:9/v1"}))


BEFORE: dict[str, Callable[[Site], Any]] = {
    "load_suite": lambda site: load_suite(site.place),
    "find_suite": lambda site: find_suite("tiny"),
    "find_paper": lambda site: find_paper(PAPER),
    "find_paper, another of the suite": lambda site: find_paper(OTHER),
    "a paper's folder": lambda site: find_paper(str(site.place / "good")),
    "a card's file": lambda site: find_paper(str(site.place / "good" / "paper.yaml")),
    "a link to it": by_link,
    "write_manifest": lambda site: write_manifest(site.place),
    "prepare": lambda site: prepare(Request(paper=PAPER, agent="nothing", kernel="local", runs=str(site.new))),
    "papermill": by_papermill,
    "batch, at plan time": lambda site: declare(plan(), site.new),
    "batch": lambda site: run_plan(plan(), site.new, slots=1),
    "batch, one paper": lambda site: declare(plan(suite=None, papers=[OTHER]), site.new),
    "batch, an attempt whose turn comes": lambda site: settle(declare_anyway(site), 0),
    "papers list": command("papers", "list", "tiny"),
    "papers overview": command("papers", "overview", "tiny"),
    "papers show": command("papers", "show", PAPER),
    "papers show --all": command("papers", "show", PAPER, "--all"),
    "papers check": command("papers", "check", "SUITE"),
    "papers check, one": command("papers", "check", PAPER),
    "papers probe": command("papers", "probe", "SUITE"),
    "papers gold": command("papers", "gold", PAPER, "--kernel", "local", "--runs", "NEW"),
    "fetch": command("fetch", PAPER),
    "run": command("run", PAPER, "--agent", "nothing", "--kernel", "local", "--runs", "NEW"),
    "batch run": command("batch", "run", "--suite", "tiny", "--agent", "nothing", "--runs", "NEW"),
    "image build": command("image", "build", "--suite", "tiny"),
    "a person": command("attempt", "open", PAPER, "--kernel", "local", "--runs", "NEW"),
}

AFTER: dict[str, Callable[[Site], Any]] = {
    "resume": lambda site: resume_attempt(site.cut.path),
    "grade": lambda site: grade_now(site.ended),
    "grade, the card given": lambda site: grade(site.ended, site.card),
    "grade from the record": lambda site: replay(site.ended),
    "grade by a model": graded_by_a_model,
    "regrade": lambda site: regrade(site.ended, site.card, site.ended.path / "grading.none.jsonl"),
    "reexecute": lambda site: reexecute(site.ended, kernel="local"),
    "batch, when it is graded": settled,
    "reclaim resume": command("resume", "CUT"),
    "reclaim grade": command("grade", "ENDED"),
    "reclaim grade --model": command("grade", "ENDED", "--model", "openai:none"),
    "reclaim reexecute": command("reexecute", "ENDED", "--kernel", "local"),
    "a person comes back": command("attempt", "open", "CUT"),
}


@pytest.mark.parametrize("entry", [*BEFORE, *AFTER])
def test_one_byte_more_is_refused(site: Site, entry: str) -> None:
    if entry == "a person comes back":
        first = site.cut.stream.read_text().splitlines()[0]  # the chain holds for whatever stands alone
        assert '"name":"replay"' in first
        site.cut.stream.write_text(first.replace('"name":"replay"', '"name":"human"') + "\n")
    one_byte(site.place)
    with pytest.raises(ReclaimError, match="suite is frozen"):
        (BEFORE | AFTER)[entry](site)
    assert not list(site.new.rglob("stream.jsonl")) or entry in ("batch, when it is graded",)
    assert sorted(p.name for p in site.ended.path.glob("verdict*")) == ["verdict.rules.json"]


@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda one: str(one.__name__))
def test_whatever_was_done_to_it(site: Site, tamper: Callable[[Path], None]) -> None:
    tamper(site.place)
    said = TAMPERED[tamper]
    for load in (
        lambda: load_suite(site.place),
        lambda: find_paper(PAPER),
        lambda: find_paper(str(site.place / "good")),
        lambda: prepare(Request(paper=PAPER, agent="nothing", kernel="local", runs=str(site.new))),
        lambda: declare(plan(), site.new),
    ):
        with pytest.raises(CardError, match="frozen") as caught:
            load()
        assert said in str(caught.value)
    suite = load_suite(site.place, keep_going=True)
    assert len(suite) == 0 and said in " ".join(suite.broken)
    assert said in " ".join(str(f) for f in check_path(site.place) if f.level == "error")
    with pytest.raises(AttemptError, match=r"not graded: .*frozen"):
        replay(site.ended)
    with pytest.raises(ReclaimError, match="frozen"):
        resume_attempt(site.cut.path)


def test_a_card_that_the_manifest_does_not_list_is_graded_by_nobody(site: Site) -> None:
    """Somebody changed a card, and made hashes and seal anew: it is another suite, and the attempt is not of it."""
    one_digit(site.place)
    from hashlib import sha256

    digest = sha256((site.place / "good" / "paper.yaml").read_bytes()).hexdigest()
    change(site.place, lambda raw: raw["cards"].update({"good/paper.yaml": digest}), seal=True)
    assert find_paper(PAPER).sha256 == digest  # without a signature nothing shows it to those who come new
    with pytest.raises(AttemptError, match="lists " + digest):
        grade_now(site.ended)
    with pytest.raises(AttemptError, match="lists " + digest):
        resume_attempt(site.cut.path)
    out = load_runs(site.ended.path.parents[4]).left_out
    assert list(out["paper"]) == ["good"] and digest in out["departed"].iloc[0]


def test_a_changed_copy_under_the_same_name_hides_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt made at a doctored copy that comes before the published suite is not graded where that lies too."""
    copy = site.new / "papers" / "tiny"
    shutil.copytree(site.place, copy)
    thawed(copy)
    for name in ("good", "other"):
        file = copy / name / "paper.yaml"
        text = "\n".join(line for line in file.read_text().splitlines() if not line.startswith("notes"))
        file.write_text(text.replace("high: 4.1", "high: 4.9"))
    monkeypatch.setenv("RECLAIM_PAPERS", f"{copy.parent}:{site.place.parent}")
    prepared = prepare(Request(paper=PAPER, agent="constant", kernel="local", runs=str(site.new / "runs")))
    folder = run_attempt(prepared).folder
    with pytest.raises(AttemptError, match=r"the frozen suite .* lists"):
        grade_now(folder)


def test_reports_leave_the_attempt_out_and_say_why(site: Site) -> None:
    runs = site.ended.path.parents[4]
    assert list(load_runs(runs).attempts["paper"]) == ["good"] and load_runs(runs).left_out.empty
    one_byte(site.place)
    loaded = load_runs(runs)
    assert loaded.attempts.empty and loaded.papers.empty and list(loaded.left_out["paper"]) == ["good"]
    text = str(Story(loaded).heading().markdown)
    assert "whose card is not that of its frozen suite: tiny/good" in text.replace("\\", "")
    assert "good/paper.yaml was changed after that" in text.replace("\\", "")


def test_what_was_graded_before_is_marked(site: Site) -> None:
    from reclaim_nb.commands.running import report

    assert report(site.ended).notes == ()
    one_byte(site.place)
    assert "no verdict holds" in report(site.ended).notes[0]


def test_an_agent_that_changes_its_card_ends_the_batch(site: Site) -> None:
    """The card is changed while the first attempt runs: that one is not graded, and the next does not begin."""
    file = site.place / "good" / "paper.yaml"
    book = json.loads((site.place / "good" / "solution.ipynb").read_text())
    book["cells"][0]["source"] += f"\nopen({str(file)!r}, 'a').write('\\n')"
    (site.new).mkdir()
    (site.new / "book.ipynb").write_text(json.dumps(book))
    agent = {"name": "replay", "options": {"notebook": str(site.new / "book.ipynb")}}
    progress = run_plan(plan(agents=[agent]), site.new / "runs", slots=1)
    assert progress.done == 0 and set(progress.problems) == {"tiny/good/replay/01", "tiny/other/replay/01"}
    assert "not graded" in progress.problems["tiny/good/replay/01"]
    assert all("good/paper.yaml was changed after that" in told for told in progress.problems.values())
    assert [p.parent.parent.parent.name for p in (site.new / "runs").rglob("stream.jsonl")] == ["good"]


def test_what_was_frozen_is_used_as_any(site: Site) -> None:
    """Nothing of the above refuses a suite that is as it was published; errata may be written at any time."""
    (site.place / "errata.md").write_text("# Errata\n\n- good: the split is called test in version 2 of the paper.\n")
    (site.place / "README.md").write_text("Read me.\n")
    (site.place / "good" / ".ipynb_checkpoints").mkdir()
    assert len(load_suite(site.place)) == 2
    assert [f for f in check_path(site.place) if f.level == "error"] == []
    frozen = first_event(site.ended.stream).data["spec"]["frozen"]
    assert frozen == {"version": "1", "seal": site.card.frozen.seal}
    verdict = replay(site.ended)
    assert verdict.outcome == "reproduced"
    found = grade_with_reexecution(site.ended, site.card, reexecute(site.ended, kernel="local", change=False))
    assert found.outcome == "reproduced"
    assert resume_attempt(site.cut.path).reason is not None


def test_nothing_is_entered_on_a_frozen_card(site: Site) -> None:
    before = (site.place / "good" / "paper.yaml").read_bytes()
    assert site.card.card.gold is not None
    with pytest.raises(CardError, match="nothing is entered on its cards"):
        enter_gold(site.card, site.card.card.gold, replace=True)
    with pytest.raises(ReclaimError, match="nothing is entered on its cards"):
        command("papers", "gold", PAPER, "--replace", "--kernel", "local", "--runs", "NEW")(site)
    assert (site.place / "good" / "paper.yaml").read_bytes() == before and not site.new.exists()


def test_the_canary_stands_on_every_card_and_no_agent_sees_it(site: Site) -> None:
    suite = load_suite(site.place)
    assert suite.manifest is not None and suite.manifest.frozen is not None
    canary = suite.manifest.frozen.canary
    for loaded in suite:
        assert canary in str(loaded.card.notes)
        view = agent_view(loaded.card)
        assert canary not in as_markdown(view) and canary not in view.model_dump_json()
    notebook = site.ended.notebook.read_text()
    assert canary not in notebook


# ---- signatures ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two SSH keys: of who publishes the suite, and of somebody else."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("there is no ssh-keygen (Debian: apt install openssh-client)")
    folder = tmp_path_factory.mktemp("keys")
    for name in ("publisher", "other"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(words, check=True)
    return folder / "publisher", folder / "other"


@pytest.fixture
def signed(keys: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A frozen suite that is signed, which is what `reclaim rebuild freeze --key` makes."""
    monkeypatch.delenv(SIGNERS_VARIABLE, raising=False)
    place = write_frozen(tmp_path / "papers", key=public_key(keys[0]))
    sign(place / "suite.yaml", keys[0])
    return place


def test_a_signature_holds_for_the_manifest_alone(signed: Path, keys: tuple[Path, Path]) -> None:
    assert len(load_suite(signed)) == 2
    change(signed, lambda raw: raw["frozen"].update(version="2"), seal=True)
    with pytest.raises(CardError, match="its signature does not hold"):
        load_suite(signed)
    (signed / "suite.yaml.sig").unlink()
    with pytest.raises(CardError, match=r"its signature suite\.yaml\.sig is missing"):
        load_suite(signed)
    sign(signed / "suite.yaml", keys[1])
    with pytest.raises(CardError, match="signed with a key that is not trusted"):
        load_suite(signed)
    (signed / "suite.yaml.sig").write_text("no signature")
    with pytest.raises(CardError, match=r"frozen .*sign"):
        load_suite(signed)


def test_a_signature_for_something_else_is_none_for_a_suite(signed: Path, keys: tuple[Path, Path]) -> None:
    (signed / "suite.yaml.sig").unlink()
    words = ["ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", str(keys[0]), str(signed / "suite.yaml")]
    subprocess.run(words, check=True, capture_output=True)
    with pytest.raises(CardError, match=r"frozen .*sign"):
        load_suite(signed)


def test_trusted_keys_refuse_what_somebody_else_signed_or_nobody(
    signed: Path, keys: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who changes a card can make every hash anew, and sign it with a key of their own; only a known key tells."""
    signers = tmp_path / "signers"
    signers.write_text(f"ada@example.org {public_key(keys[0])}\n")
    monkeypatch.setenv(SIGNERS_VARIABLE, str(signers))
    assert find_paper(str(signed / "good")).frozen is not None
    other = public_key(keys[1])
    change(signed, lambda raw: raw["frozen"].update(key=other), seal=True)
    (signed / "suite.yaml.sig").unlink()
    sign(signed / "suite.yaml", keys[1])
    with pytest.raises(CardError, match="not trusted here"):
        find_paper(str(signed / "good"))
    monkeypatch.delenv(SIGNERS_VARIABLE)
    assert find_paper(str(signed / "good")).frozen is not None
    change(signed, lambda raw: raw["frozen"].pop("key"), seal=True)
    assert find_paper(str(signed / "good")).frozen is not None
    monkeypatch.setenv(SIGNERS_VARIABLE, str(signers))
    with pytest.raises(CardError, match=f"{SIGNERS_VARIABLE} asks for a signature"):
        find_paper(str(signed / "good"))
    monkeypatch.setenv(SIGNERS_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(CardError, match="frozen"):
        find_paper(str(signed / "good"))


def test_no_key_signs_nothing(signed: Path, tmp_path: Path) -> None:
    with pytest.raises(CardError, match="ssh-keygen"):
        public_key(tmp_path / "no-key")
    with pytest.raises(CardError, match="ssh-keygen"):
        sign(signed / "suite.yaml", tmp_path / "no-key")


def test_check_says_who_signed(signed: Path) -> None:
    told = [str(f) for f in check_path(signed)]
    assert any("frozen (version 1), signed with the key SHA256:" in one for one in told)
    plain = write_frozen(signed.parent.parent / "again")
    assert any("frozen (version 1), not signed" in str(f) for f in check_path(plain))
