"""The whole pipeline on a made-up conference: expected cards and refusals, the same after any interruption."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reclaim_nb.errors import CardError
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.check import check_path
from reclaim_nb.papers.suite import find_paper, find_suite, load_suite, write_manifest
from reclaim_nb.rebuild import folder as disk
from reclaim_nb.rebuild import review
from reclaim_nb.rebuild.extract import reading
from reclaim_nb.rebuild.finish import drift, freeze
from reclaim_nb.rebuild.folder import Folder, RebuildError
from reclaim_nb.rebuild.run import begin, run_step, settle
from reclaim_nb.rebuild.services import Services
from tests.agents.model_endpoint import Endpoint
from tests.rebuild.mini_conference import VENUE, Conference, note_id, reader

pytestmark = pytest.mark.timeout(900)  # the whole pipeline runs in the first test's time

DAY = "2026-11-30"
STEPS = ("collect", "match", "read", "probe", "draft", "select")

TIERS = {
    **dict.fromkeys((1, 2, 5, 11, 12, 13, 16, 18, 27, 28, 29), "run"),
    **dict.fromkeys((3, 8, 9, 10, 14, 17, 19, 20), "retrain"),
    **dict.fromkeys((4, 6, 7), "reimplement"),
}
REFUSED = {
    15: ("read", "no preprint and no PDF"),
    21: ("draft", "ERM = 84.0 lies inside 83.08 to 85.52 percent"),
    22: ("draft", "ERM = 90.2 is better than the claim 84.3"),
    24: ("draft", "neither reading by the model could be verified"),
    25: ("draft", "no need: no device is named"),
    26: ("draft", "the need of 4608 hours exceeds the cap of 96"),
    30: ("collect", "no authors"),
}


class Site:
    """The conference, the model, and rebuilds in folders of their own."""

    def __init__(self, conference: Conference) -> None:
        self.conference = conference

    def run(self, path: Path, *, steps: tuple[str, ...] = STEPS) -> Folder:
        folder = begin(path, venue=VENUE, suite="mini2026", title="A mini conference", seed=4, count=12)
        options = {"settings": {}, "retries": 0}
        with (
            Endpoint(reader(path)) as endpoint,
            Services(folder, day=lambda: DAY) as services,
            # The address of the model is no part of a kept answer's key, and neither is its key.
            reading("scripted:reader", {**options, "base_url": endpoint.url}) as model,
        ):
            for step in steps:
                done = run_step(step, folder, reader=model, services=services)
                assert not done.later, done.later
        return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with Conference() as conference, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECLAIM_MIRROR", conference.mirror)
        patch.setenv("RECLAIM_CONTACT", "mailto:rebuild@example.org")
        yield Site(conference)


@pytest.fixture(scope="module")
def drafted(site, tmp_path_factory) -> Folder:
    return site.run(tmp_path_factory.mktemp("whole") / "mini2026")


def results(folder: Path) -> dict[str, str]:
    """Return the hash of every file but the cache's."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and "cache" not in p.relative_to(folder).parts]
    assert not [p for p in files if p.name.endswith(".part")]
    return {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def result(folder: Folder, n: int, step: str) -> dict[str, Any]:
    made = folder.made(note_id(n), step)
    assert made is not None
    return made.result


def test_every_paper_comes_out_as_expected(drafted):
    refused = {paper: (step, why) for paper, step, why in drafted.refusals()}
    assert set(refused) == {note_id(n) for n in REFUSED}
    for n, (step, why) in REFUSED.items():
        assert refused[note_id(n)][0] == step and why in refused[note_id(n)][1], n
    assert {n: result(drafted, n, "draft")["tier"] for n in TIERS} == TIERS
    assert "value: 84.3 or 82.0" in result(drafted, 23, "draft")["question"]


def test_a_card_holds_value_criterion_need_budget_and_their_places(drafted):
    card = PaperCard.model_validate(result(drafted, 1, "draft")["card"])
    assert card.target.value == Decimal("84.3") and card.arxiv == "2611.00001"
    assert card.criterion is not None and card.criterion.as_text("percent") == "83.08 to 85.52 percent, bounds included"
    assert (card.need.hours, card.budget.hours) == (Decimal("5.04"), Decimal("15.12"))
    assert (
        card.release.code is not None and card.release.code.commit == f"{1:040x}" and card.release.code.license == "MIT"
    )
    told = "\n".join(one.purpose for one in card.sources)
    assert "value = 84.3: T1 r4 c1 [Ours | Test / Accuracy (%)] of the latex of 2611.00001v3: 84.3" in told
    assert "baseline = 80.1: T1 r2 c1 [ERM | Test / Accuracy (%)]" in told
    assert "We train on 8 NVIDIA A100 GPUs for 2 hours." in told and "asked 2026-11-30" in told
    assert card.anchors[0].value == Decimal("12.5") and "https://github.com/others/baseline" not in told


def test_traps_of_single_papers(drafted):
    assert result(drafted, 12, "match")["preprint"]["id"] == "2611.00012"
    assert result(drafted, 13, "match")["preprint"]["id"] == "2611.00013"
    assert "by others" in result(drafted, 14, "match")["why"] and result(drafted, 14, "read")["kind"] == "pdf"
    assert result(drafted, 16, "match")["how"] == "id" and "another one there" in result(drafted, 16, "match")["why"]
    assert "which is by others" in result(drafted, 17, "match")["why"]
    assert result(drafted, 18, "read")["kind"] == "latex" and result(drafted, 20, "read")["kind"] == "pdf"
    assert result(drafted, 5, "probe")["release"]["code"]["url"] == "https://github.com/lab/repo5-now"
    states = {n: {a["part"]: a["state"] for a in result(drafted, n, "probe")["answers"]} for n in (6, 7, 8, 9, 10, 11)}
    assert (states[6]["code"], states[7]["code"]) == ("missing", "missing")
    assert (states[8]["weights"], states[9]["weights"], states[10]["weights"]) == ("gated", "wrong", "wrong")
    assert states[11]["data"] == "gated"
    assert result(drafted, 27, "draft")["card"]["need"]["hours"] == "20.16"  # 64 device-hours, not 64 x 8
    assert result(drafted, 28, "draft")["route"] == "binomial"
    # The record of 16 names version 1; all numbers are of version 3, and the reviewers are told.
    sixteenth = result(drafted, 16, "draft")["card"]
    assert sixteenth["target"]["where"].endswith("latex of 2611.00016v3")
    assert "the record names version 1 of 2611.00016" in " ".join(sixteenth["doubts"])
    assert "doubts" not in result(drafted, 1, "draft")["card"]


def test_tables_of_a_pdf_have_heads_and_a_page(drafted):
    for n, kind, version in ((14, "pdf", f"openreview:{note_id(14)}"), (19, "pdf", "2611.00019v3")):
        card = result(drafted, n, "draft")["card"]
        assert result(drafted, n, "read")["kind"] == kind
        assert card["target"]["where"] == f"T1 r4 c1 [Ours | Test / Accuracy (%)], page 1, pdf of {version}"
        assert card["target"]["siblings"] == [{"what": "small variant", "value": "82.0"}]
    # A PDF without a table is read by its sentences.
    assert result(drafted, 20, "draft")["card"]["target"]["where"] == "S1, pdf of 2611.00020v3"


def test_what_the_model_said_is_kept(drafted):
    said = json.loads(drafted.file(note_id(24), "said.1").read_text())
    assert said["taken"] is None and len(said["said"]) == 3
    assert "'85.9' does not stand at T1 r4 c1" in said["said"][0]["problem"]


def test_services_are_told_who_asks(site, drafted):
    assert all("mailto:rebuild@example.org" in agent for agent in site.conference.agents)


def test_twice_gives_the_same_and_asks_nothing(site, drafted):
    before, asked = results(drafted.path), sum(site.conference.asked.values())
    folder = site.run(drafted.path)
    assert results(folder.path) == before and sum(site.conference.asked.values()) == asked


def test_a_new_run_gives_the_same(site, drafted, tmp_path):
    assert results(site.run(tmp_path / "mini2026").path) == results(drafted.path)


def killed_at(number: int, half: bool) -> Any:
    """Return a writer that dies at its n-th file, by a signal that nothing catches."""
    count = 0

    def put(file: Path, content: bytes) -> None:
        nonlocal count
        count += 1
        if count == number:
            if half:
                (file.parent / f".{file.name}.x.part").write_bytes(content[: len(content) // 2])
            else:
                disk.write_atomic(file, content)
            os.kill(os.getpid(), signal.SIGKILL)
        disk.write_atomic(file, content)

    return put


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True])
def test_killed_anywhere_it_goes_on(site, drafted, tmp_path, half, monkeypatch):
    """One folder dies over and over: after 2, 9, 25 ... files of every run, until the pipeline gets through."""
    path = tmp_path / "mini2026"
    deaths = 0
    for number in (1, 2, 9, 25, 31, 40, 47, 60, 23, 5):
        child = os.fork()
        if child == 0:
            disk.put = killed_at(number, half)
            try:
                site.run(path)
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        deaths += os.WIFSIGNALED(status)
    assert deaths >= 8
    assert results(site.run(path).path) == results(drafted.path)


@pytest.mark.slow
def test_every_boundary_between_steps(site, drafted, tmp_path):
    path = tmp_path / "mini2026"
    for step in STEPS:
        site.run(path, steps=(step,))
    assert results(path) == results(drafted.path)


# ---- people ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reviewed(drafted, site, tmp_path_factory) -> Folder:
    path = tmp_path_factory.mktemp("reviewed") / "mini2026"
    shutil.copytree(drafted.path, path)
    folder = Folder(path)
    papers = review.chosen(folder)
    assert len(papers) == 12
    edit = {"target.scope": {"value": "test split of toys", "source": "S1"}}
    for rater, name in (("ada", "Ada Rater"), ("bob", "Bob Rater")):
        for paper in papers[2:]:
            review.record(folder, paper, rater, "accept", signature=name, date=DAY)
        review.record(folder, papers[0], rater, "refuse", reason="a toy", signature=name, date=DAY)
    review.record(folder, papers[1], "ada", "edit", reason="scope", edits=edit, signature="Ada Rater", date=DAY)
    review.record(folder, papers[1], "bob", "accept", signature="Bob Rater", date=DAY)
    return folder


def test_decisions_need_what_they_need(drafted):
    paper = review.chosen(drafted)[0]
    with pytest.raises(RebuildError, match="needs a reason"):
        review.record(drafted, paper, "ada", "refuse", signature="Ada Rater")
    with pytest.raises(RebuildError, match="does not hold together"):
        edits = {"target.value": {"value": "12.0", "source": "S1"}}
        review.record(drafted, paper, "ada", "edit", reason="x", edits=edits, signature="Ada Rater")
    assert review.waiting(drafted, "ada") == review.chosen(drafted)


def test_freeze_wants_both_signatures_adjudication_and_selftest(reviewed, site):
    papers = review.chosen(reviewed)
    assert review.final(reviewed, papers[1]).state == "disagreement"
    assert "11 decided alike" in review.agreement(reviewed).as_text()
    with pytest.raises(RebuildError, match="no self-test was made"):
        freeze(reviewed, "1", DAY)
    review.adjudicate(reviewed, papers[1], "eve", "ada", signature="Eve Judge", reason="the scope is right", date=DAY)
    done = run_step("selftest", reviewed)
    assert not done.refused and done.made == 11
    trials = {
        t["name"]: t["outcome"]
        for t in json.loads(reviewed.file(papers[2], "selftest").read_text())["result"]["trials"]
    }
    assert trials["target-like"] == "reproduced" and trials["near miss"] == "near_miss"
    assert (
        trials["poor"] == "not_reproduced" and trials["injected"] != "reproduced" and trials["constant"] != "reproduced"
    )
    place = freeze(reviewed, "1", DAY)
    suite = load_suite(place)
    assert len(suite) == 11 and suite.manifest is not None and suite.manifest.frozen is not None
    assert suite.manifest.frozen.signers == ("Ada Rater", "Bob Rater", "Eve Judge")
    assert len(suite.manifest.frozen.dev) == 2 and (place / "errata.md").exists()
    assert all(suite.manifest.frozen.canary in str(one.card.notes) for one in suite)
    assert [f for f in check_path(place) if f.level == "error"] == []
    scoped = [one.card for one in suite if one.card.target.scope == "test split of toys"]
    assert len(scoped) == 1 and any("by ada: S1" in source.purpose for source in scoped[0].sources)


def test_a_frozen_card_changed_by_a_byte_is_refused_everywhere(reviewed, tmp_path, monkeypatch):
    place = tmp_path / "papers" / "mini2026"
    shutil.copytree(reviewed.path / "suite" / "mini2026", place)
    monkeypatch.setenv("RECLAIM_PAPERS", str(place.parent))
    slug = load_suite(place).cards[0].card.id
    file = place / slug / "paper.yaml"
    file.write_bytes(file.read_bytes() + b"\n")
    from reclaim_nb.attempts.prepare import Request, prepare
    from reclaim_nb.batch.plan import declare, make_plan

    for load in (
        lambda: load_suite(place),
        lambda: find_suite("mini2026"),
        lambda: find_paper(f"mini2026/{slug}"),
        lambda: find_paper(str(file)),
        lambda: find_paper(str(file.parent)),
        lambda: prepare(Request(paper=f"mini2026/{slug}", agent="nothing", runs=str(tmp_path / "runs"))),
        lambda: declare(make_plan({"name": "b", "suite": "mini2026", "agents": ["nothing"]}), tmp_path / "runs"),
        lambda: write_manifest(place),
    ):
        with pytest.raises(CardError, match="frozen"):
            load()
    assert "paper.yaml was changed after that" in " ".join(str(f) for f in check_path(place))
    file.write_bytes(file.read_bytes()[:-1])
    assert find_paper(f"mini2026/{slug}").card.id == slug
    with pytest.raises(CardError, match="not written again"):
        write_manifest(place)
    manifest = place / "suite.yaml"
    manifest.write_text(manifest.read_text().replace("version: '1'", "version: '2'"))
    with pytest.raises(CardError, match=r"its manifest suite\.yaml was changed after that"):
        find_paper(f"mini2026/{slug}")


def test_drift_marks_what_decayed(reviewed, site):
    with Services(reviewed, cache="cache/drift-a", day=lambda: "2027-06-01") as services:
        calm = drift(reviewed, services, "2027-06-01")
    assert {row["state"] for row in calm["cards"]} == {"as frozen"}
    ids = {str(one.card.openreview): one for one in load_suite(reviewed.path / "suite" / "mini2026")}
    with_code = sorted(int(i[4:6]) for i, one in ids.items() if one.card.release.code and int(i[4:6]) != 5)
    gone, ahead = with_code[0], with_code[1]
    site.conference.gone.add(f"api.github.com/repos/lab/repo{gone}")
    site.conference.heads[ahead] = "f" * 40
    newer = next(int(i[4:6]) for i, one in ids.items() if one.card.arxiv and int(i[4:6]) not in (gone, ahead))
    site.conference.versions[newer] = 4
    try:
        with Services(reviewed, cache="cache/drift-b", day=lambda: "2028-06-01") as services:
            later = drift(reviewed, services, "2028-06-01")
    finally:
        site.conference.gone.clear()
        site.conference.heads.clear()
        site.conference.versions.clear()
    states = {row["card"]: row["state"] for row in later["cards"]}
    assert states[f"mini2026/{ids[note_id(gone)].card.id}"] == "decayed"
    assert states[f"mini2026/{ids[note_id(ahead)].card.id}"] == "decayed"  # its frozen commit is gone
    assert list(states.values()).count("decayed") == 2
    (row,) = [row for row in later["cards"] if row["state"] == "changed"]
    assert row["card"] == f"mini2026/{ids[note_id(newer)].card.id}"
    assert row["changes"][0]["change"] == "version 4 is there, and the card's numbers are those of version 3"


def test_a_person_settles_what_the_readings_disagree_on(drafted, site, tmp_path):
    path = tmp_path / "mini2026"
    shutil.copytree(drafted.path, path)
    folder = Folder(path)
    settle(folder, note_id(23), 1, "ada", "the abstract speaks of the large one")
    site.run(path, steps=("draft",))
    assert result(folder, 23, "draft")["card"]["target"]["value"] == "84.3"
    assert result(folder, 23, "draft")["settled"]["by"] == "ada"
