"""The published runs: the same numbers as published, and words that go both ways."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from analysis_helpers import PUBLISHED, RELEASE, write_attempt

from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.analysis.importing import import_published
from reclaim_nb.analysis.published import (
    EXITS,
    FLAGS,
    LADDER,
    MODES,
    SEVERITIES,
    SLUGS,
    VERDICTS,
    cause_of,
    ours,
    outcome_of,
    outcome_of_score,
    scores_of,
    slug,
    theirs,
)
from reclaim_nb.analysis.rates import best_of_tier, scores, tally
from reclaim_nb.analysis.reference import against_sweeps, against_text, recomputed
from reclaim_nb.analysis.release import read_release
from reclaim_nb.analysis.spend import spend_of_failed
from reclaim_nb.attempts.reasons import ENDINGS
from reclaim_nb.errors import AttemptError, RecordError
from reclaim_nb.grading.cause import Code, Outcome
from reclaim_nb.record.index import Index

SWEEPS = """
dsv4 run 29 6.21 14 / dsv4 retrain 28 6.43 9 / dsv4 reimplement 30 5.10 4
qwen3 run 34 3.91 5 / qwen3 retrain 26 4.54 6 / qwen3 reimplement 30 3.27 2
minimax run 33 3.18 3 / minimax retrain 32 3.41 5 / minimax reimplement 33 2.70 2
muse run 33 5.64 9 / muse retrain 32 6.03 9 / muse reimplement 32 3.78 5
"""


def test_every_published_sweep_has_its_count_mean_score_and_successes(published: Runs) -> None:
    rows = scores(published.attempts).to_dict("records")
    found = {(r["agent"], r["tier"]): (r["n"], f"{r['mean_score']:.2f}", r["reproduced"]) for r in rows}
    expected = {}
    for line in SWEEPS.replace("\n", "/").split("/"):
        if line.strip():
            agent, tier, n, mean, reproduced = line.split()
            expected[agent, tier] = (int(n), mean, int(reproduced))
    assert found == expected


def test_best_agent_of_each_tier_over_its_papers(published: Runs) -> None:
    rows = best_of_tier(published.attempts).to_dict("records")
    found = {
        row["tier"]: (row["reproduced"], row["n"], *(round(100 * row[k]) for k in ("rate", "low", "high")))
        for row in rows
    }
    assert found == {"run": (14, 34, 41, 26, 58), "retrain": (9, 33, 27, 15, 44), "reimplement": (5, 33, 15, 7, 31)}
    assert [row["agent"] for row in rows] == ["dsv4", "dsv4 = muse", "muse"]


def test_both_denominators_stand_beside_each_other(published: Runs) -> None:
    rows = {row["tier"]: row for row in best_of_tier(published.attempts, "graded").to_dict("records")}
    assert (rows["run"]["reproduced"], rows["run"]["n"], rows["run"]["missing"]) == (14, 29, 5)
    assert tally(published.attempts) == {
        "declared": 400, "graded": 372, "reproduced": 73, "ungraded": 0, "excluded": 0, "missing": 28,
    }  # fmt: skip


def test_failed_runs_spent_what_the_records_say(published: Runs) -> None:
    row = next(r for r in spend_of_failed(published.attempts).to_dict("records") if r["measure"] == "of_budget")
    assert (row["n"], f"{row['mean']:.3f}", f"{row['aggregate']:.3f}") == (299, "0.303", "0.186")


def test_report_names_where_text_and_records_differ(published: Runs) -> None:
    table = {row["text"]: row for row in against_text(published.attempts).to_dict("records")}
    assert {text for text, row in table.items() if not row["agree"]} == {"29 %", "63"}
    assert (table["29 %"]["records"], table["63"]["records"], table["76"]["records"]) == ("30.3 %", "61", "76")
    assert all(table[text]["why"] for text in ("29 %", "63"))
    assert recomputed(published.attempts)["failed_share_aggregate"] == "18.6 %"


def test_every_word_of_the_published_runs_has_one_of_ours(published: Runs) -> None:
    runs = read_release(PUBLISHED).runs
    known = {word.theirs for word in MODES}
    for run in runs:
        assert outcome_of(run.audit.verdict) != "ungraded"
        assert run.mode in known
        assert run.mode != "other" or slug(run.mode_slug) in {word.theirs for word in SLUGS}
        assert {flag.kind for flag in run.audit.flags} <= {word.theirs for word in FLAGS}
    causes = Counter(cause_of(run.audit.verdict, run.mode, run.mode_slug) for run in runs)
    assert causes["C01"] == 61
    assert causes["C14"] == 75  # one of the 76 near misses has the verdict "reproduced", which has no cause


@pytest.mark.parametrize("outcome", get_args(Outcome))
def test_outcomes_go_out_and_those_the_release_knows_come_back(outcome: str) -> None:
    word = theirs(VERDICTS, outcome)
    assert word in ("reproduced", "partial", "not_reproduced", "disqualified", "unverifiable")
    both = any(entry.ours == outcome and entry.side == "both" for entry in VERDICTS)
    assert (outcome_of(word) == outcome) == both


def test_every_published_score_stands_on_the_rung_of_its_verdict(published: Runs) -> None:
    for run in read_release(PUBLISHED).runs:
        assert outcome_of_score(run.audit.score) == outcome_of(run.audit.verdict)
        assert {flag.severity for flag in run.audit.flags} <= set(SEVERITIES)


def test_the_ladder_has_every_score_once_and_every_outcome_a_rung() -> None:
    assert [score for scores, _ in LADDER for score in scores] == list(range(11))
    for outcome in get_args(Outcome):
        assert outcome_of_score(scores_of(outcome)[0]) == outcome_of(theirs(VERDICTS, outcome) or "")
    with pytest.raises(ValueError, match="0 to 10"):
        outcome_of_score(11)


@pytest.mark.parametrize("code", get_args(Code))
def test_causes_have_a_mode(code: str) -> None:
    word = theirs(MODES, code)
    assert word is not None
    both = any(entry.ours == code and entry.side == "both" for entry in MODES)
    assert (ours(MODES, word) == code) == both


def test_end_reasons_of_attempts_that_count_have_an_exit_label() -> None:
    for reason, ending in ENDINGS.items():
        assert (theirs(EXITS, reason) is not None) == ending.counts


def test_imported_runs_are_files_marked_as_imported(release: Runs) -> None:
    made = release.attempts[release.attempts["makings"] > 0]
    assert len(made) == 10
    assert made["imported"].all()
    assert set(made["grader"]) == {"published"}
    assert list(release.attempts.loc[release.attempts["makings"] == 0, "state"]) == ["not_begun", "not_begun"]
    assert not list(release.path.rglob("stream.jsonl"))
    row = made[made["attempt"] == "published/neurips2025/2501.00002/alpha/01"].iloc[0]
    assert (row["reason"], row["outcome"], row["cause"], row["score"]) == (
        "budget_exhausted",
        "not_reproduced",
        "C07",
        2,
    )
    assert (row["need_hours"], row["budget_hours"], row["band"], row["tokens"]) == (18.0, 32.0, "8-32", 1100)


def test_flags_of_weight_become_contributing_causes(release: Runs) -> None:
    row = release.attempts.set_index("attempt").loc["published/neurips2025/2501.00002/beta/01"]
    assert (row["outcome"], row["cause"], row["contributing"]) == ("disqualified", "C13", "C12")
    light = release.attempts.set_index("attempt").loc["published/neurips2025/2501.00005/beta/01"]
    assert light["contributing"] == ""  # a flag of severity low is none


def test_transcripts_become_cells(release: Runs) -> None:
    cells = release.cells[release.cells["attempt"] == "published/neurips2025/2501.00001/alpha/01"]
    assert list(cells["status"]) == ["ok", "error", "ok"]
    assert list(cells["hours"]) == [0.0, 0.5, 1.5]
    assert list(cells["at_seconds"]) == [0.0, 1.0, 61.0]
    cut = release.cells[release.cells["attempt"] == "published/neurips2025/2501.00002/alpha/01"]
    assert list(cut["status"]) == ["ok", "not_run"]


def test_totals_of_the_release_are_compared_with_ours(release: Runs) -> None:
    table = against_sweeps(release.path, "published", release.attempts)
    assert len(table) == 6
    assert table["agree"].all()
    file = release.path / "published" / "import.json"
    document = json.loads(file.read_text())
    document["sweeps"][0]["spent_h100"] += 0.2
    file.write_text(json.dumps(document))
    assert not against_sweeps(release.path, "published", release.attempts)["agree"].all()


def test_importing_again_changes_nothing(tmp_path: Path) -> None:
    first = import_published(RELEASE, tmp_path)
    index = Index(tmp_path)
    index.rows()
    second = import_published(RELEASE, tmp_path)
    index.rows()
    assert (first.written, first.bundles, second.written, second.kept, second.bundles) == (10, 2, 0, 10, 0)
    assert index.reread == 0


def test_a_batch_is_imported_from_one_source_only(tmp_path: Path) -> None:
    import_published(RELEASE, tmp_path)
    other = tmp_path / "other.json"
    document = json.loads((RELEASE / "runs" / "index.json").read_text())
    other.write_text(json.dumps(document | {"generated": "2026-02-02"}))
    with pytest.raises(AttemptError, match=r"import of index\.json \(sha256 .*this is other\.json .*another --batch"):
        import_published(other, tmp_path)


@pytest.mark.parametrize("text", ["", "id,model,arxiv_id,tier\n"])
def test_a_table_without_runs_is_refused_before_anything_is_written(tmp_path: Path, text: str) -> None:
    file = tmp_path / "empty.csv"
    file.write_text(text)
    with pytest.raises(RecordError, match=r"empty\.csv: no runs in it"):
        import_published(file, tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_batch_of_an_import_is_no_path(tmp_path: Path) -> None:
    with pytest.raises(AttemptError, match="cannot be called"):
        import_published(RELEASE, tmp_path / "runs", batch="..")
    assert not (tmp_path / "runs").exists()


def test_a_batch_made_here_is_never_imported_into(tmp_path: Path) -> None:
    from analysis_helpers import card

    write_attempt(tmp_path, card(), batch="published")
    with pytest.raises(AttemptError, match="made here"):
        import_published(RELEASE, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda run: run.pop("audit"), "audit"),
        (lambda run: run["audit"].update(score=11), "score"),
        (lambda run: run.update(budget_h100=0), "budget_h100"),
        (lambda run: run.update(id=""), "id"),
    ],
)
def test_what_is_not_of_the_form_is_refused_by_name(tmp_path: Path, change: object, message: str) -> None:
    document = json.loads((RELEASE / "runs" / "index.json").read_text())
    change(document["runs"][0])  # type: ignore[operator]
    (tmp_path / "index.json").write_text(json.dumps(document))
    with pytest.raises(RecordError, match=message):
        read_release(tmp_path)


def test_ids_cannot_leave_the_folder_of_bundles(tmp_path: Path) -> None:
    document = json.loads((RELEASE / "runs" / "index.json").read_text())
    document["runs"][0]["id"] = "../outside"
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "index.json").write_text(json.dumps(document))
    (tmp_path / "outside.json.gz").write_bytes(b"secret")
    assert import_published(tmp_path, tmp_path / "out").bundles == 0


def test_two_runs_of_one_agent_at_one_paper_are_refused(tmp_path: Path) -> None:
    document = json.loads((RELEASE / "runs" / "index.json").read_text())
    document["runs"].append(document["runs"][0])
    (tmp_path / "index.json").write_text(json.dumps(document))
    with pytest.raises(RecordError, match="two runs"):
        read_release(tmp_path)


def test_a_broken_transcript_costs_its_cells_and_nothing_else(tmp_path: Path) -> None:
    import_published(RELEASE, tmp_path)
    file = tmp_path / "published/neurips2025/2501.00001/alpha/01/bundle.json.gz"
    file.write_bytes(file.read_bytes()[:100])
    runs = load_runs(tmp_path)
    assert len(runs.attempts) == 12
    assert set(runs.cells["attempt"]) == {"published/neurips2025/2501.00002/alpha/01"}
