"""What the command says about records and papers: sound or not, counted or not, shown or withheld."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from cli_helpers import PAPER, Call

from reclaim_nb.papers.suite import find_paper, find_suite


def test_a_sound_record_is_called_sound_with_its_head(reclaim: Call, attempt: Path) -> None:
    for path in (attempt, attempt / "attempt.ipynb", attempt / "stream.jsonl"):
        ran = reclaim("verify-record", path)
        assert ran.code == 0
        same, sound = ran.out.splitlines()
        assert same == "verdict.rules.json: computed again from its records, the same to the byte"
        assert re.fullmatch(r"sound: \d+ events, head [0-9a-f]{64}", sound)
    document = reclaim("verify-record", attempt, "--json").json
    assert (document["sound"], document["ended"], document["problems"]) == (True, True, [])
    assert document["events"] == len((attempt / "stream.jsonl").read_text().splitlines())
    assert document["verdicts"] == [{"file": "verdict.rules.json", "state": "same", "text": ""}]


def test_a_changed_verdict_is_named_and_is_5(reclaim: Call, runs: Path, copied: Path) -> None:
    verdict = copied / "verdict.rules.json"
    document = json.loads(verdict.read_text())
    was = document["outcome"]
    changed = "not_reproduced" if was == "reproduced" else "reproduced"
    verdict.write_text(json.dumps({**document, "outcome": changed}))
    for path in (copied, runs):
        ran = reclaim("verify-record", path)
        assert ran.code == 5
        assert f"verdict.rules.json: outcome {changed}, and its records give {was}" in ran.out
    assert ran.out.endswith("\n0 of 1 records are sound, with their verdicts\n")


def test_a_verdict_of_other_rules_is_said_to_be_one(reclaim: Call, copied: Path) -> None:
    verdict = copied / "verdict.rules.json"
    document = json.loads(verdict.read_text())
    verdict.write_text(json.dumps({**document, "grader_version": "0.0.1+0"}))
    ran = reclaim("verify-record", copied)
    assert ran.code == 0
    assert "verdict.rules.json: given by the rules 0.0.1+0; by those here, " in ran.out
    assert ran.out.splitlines()[0].endswith("the same outcome")


def test_a_folder_of_attempts_is_checked_as_a_whole(reclaim: Call, runs: Path, copied: Path) -> None:
    second = copied.with_name("02")
    shutil.copytree(copied, second)
    assert reclaim("verify-record", runs).out == "2 of 2 records are sound, with their verdicts\n"
    (second / "attempt.ipynb").unlink()
    ran = reclaim("verify-record", runs)
    assert ran.code == 5
    assert f"{second / 'attempt.ipynb'}: missing" in ran.out
    document = reclaim("verify-record", runs, "--json").json
    assert [one["sound"] for one in document] == [True, False]


def test_a_changed_line_is_named_and_is_5(reclaim: Call, copied: Path) -> None:
    stream = copied / "stream.jsonl"
    lines = stream.read_text().splitlines(keepends=True)
    changed = next(number for number, line in enumerate(lines) if '"stream"' in line and "0.99" in line)
    lines[changed] = lines[changed].replace("0.99", "0.12")
    stream.write_text("".join(lines))
    ran = reclaim("verify-record", copied)
    assert ran.code == 5
    assert f"line {changed + 2}" in ran.out  # the line after it no longer follows
    assert "NOT sound" in ran.out
    assert reclaim("verify-record", copied, "--json").json["sound"] is False


def test_a_changed_cell_is_named_and_is_5(reclaim: Call, copied: Path) -> None:
    notebook = copied / "attempt.ipynb"
    document = json.loads(notebook.read_text())
    cell = next(cell for cell in document["cells"] if "result = " in "".join(cell["source"]))
    cell["source"] = ["result = measure()"]
    notebook.write_text(json.dumps(document))
    ran = reclaim("verify-record", copied)
    assert ran.code == 5
    assert f"cell {cell['id']} differs from the stream in source" in ran.out


@pytest.mark.parametrize(
    ("file", "was", "now"),
    [
        ("attempt.ipynb", "result = 0.99", "result = 0.12"),
        ("stream.jsonl", "result = 0.99", "result = 0.12"),
        ("stream.jsonl", "0.99", "0.12"),  # in the card too, which then claims a value outside its own criterion
        ("stream.jsonl", '"kind":"attempt"', '"kind":"none"'),
    ],
)
@pytest.mark.parametrize("command", ["grade", "reexecute"])
def test_what_needs_a_sound_record_is_5_without_one(
    reclaim: Call, copied: Path, file: str, was: str, now: str, command: str
) -> None:
    path = copied / file
    path.write_text(path.read_text().replace(was, now))
    ran = reclaim(command, copied)
    assert (ran.code, ran.out) == (5, "")
    assert ran.err.startswith("error: ")


def test_status_counts_what_is_not_graded_and_hides_nothing(reclaim: Call, runs: Path, copied: Path) -> None:
    second = copied.with_name("02")
    shutil.copytree(copied, second)
    for verdict in second.glob("verdict.*.json"):
        verdict.unlink()
    third = copied.with_name("03")
    third.mkdir()
    (third / "stream.jsonl").write_text("not an event\n")
    ran = reclaim("status", runs)
    assert ran.code == 0
    assert ran.out.count("not graded") == 1
    assert "3 attempts: 0 running, 2 ended, 0 with a dead runner, 1 unreadable" in ran.out
    assert "1 ungraded" in ran.out
    assert f"unreadable: {third.relative_to(runs)}" in ran.out
    document = reclaim("status", runs, "--json").json
    assert [row["state"] for row in document["attempts"]] == ["ended", "ended", "unreadable"]
    assert document["counts"]["attempts"] == 3


def test_status_of_an_empty_folder_says_none(reclaim: Call, tmp_path: Path) -> None:
    assert reclaim("status", tmp_path).out.startswith("0 attempts")


def test_grading_again_adds_and_never_replaces(reclaim: Call, copied: Path) -> None:
    before = {path.name: path.read_bytes() for path in copied.glob("verdict.*.json")}
    assert before
    assert reclaim("grade", copied).code == 0
    after = {path.name: path.read_bytes() for path in copied.glob("verdict.*.json")}
    assert {name: after[name] for name in before} == before


def test_an_attempt_that_has_not_ended_is_not_graded(reclaim: Call, copied: Path) -> None:
    stream = copied / "stream.jsonl"
    stream.write_text("".join(stream.read_text().splitlines(keepends=True)[:-1]))
    ran = reclaim("grade", copied)
    assert ran.code == 1
    assert "has not ended; `reclaim resume`" in ran.err


def test_every_paper_is_listed_with_its_tier(reclaim: Call) -> None:
    names = {loaded.name: loaded.card.tier for loaded in find_suite("small")}
    listed = {paper["name"]: paper["tier"] for paper in reclaim("papers", "list", "--json").json["papers"]}
    assert names.items() <= listed.items()
    shown = reclaim("papers", "list", "small").out
    assert all(name in shown for name in names)


def test_a_broken_card_is_listed_as_broken_and_fails_the_check(
    reclaim: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = tmp_path / "mine" / "toy" / "paper.yaml"
    card.parent.mkdir(parents=True)
    card.write_text("id: toy\ntitle: Toy\n")
    monkeypatch.setenv("RECLAIM_PAPERS", str(tmp_path))
    ran = reclaim("papers", "list")
    assert ran.code == 0
    assert f"broken: {card}" in ran.out
    assert PAPER in ran.out
    assert reclaim("papers", "check").code == 1
    ran = reclaim("papers", "check", "mine", "--json")
    assert ran.code == 1
    assert ran.json["errors"] >= 1


@pytest.mark.parametrize("what", [(), ("small",), (PAPER,)])
def test_the_shipped_papers_pass_the_check(reclaim: Call, what: tuple[str, ...]) -> None:
    ran = reclaim("papers", "check", *what)
    assert ran.code == 0, ran.out
    assert "0 errors" in ran.out


def test_show_withholds_what_agents_may_not_see_unless_asked(reclaim: Call) -> None:
    loaded = find_paper(PAPER)
    config = loaded.card.target.config
    assert config
    shown = reclaim("papers", "show", PAPER).out
    document = reclaim("papers", "show", PAPER, "--json").json
    assert loaded.card.target.claim in shown
    assert config not in shown
    assert "config" not in document["target"]
    assert not {"gold", "pitfalls", "doubts"} & set(document)
    assert reclaim("papers", "show", PAPER, "--all").out == loaded.path.read_text()
    assert reclaim("papers", "show", PAPER, "--all", "--json").json["target"]["config"] == config


def test_every_agent_is_listed_with_version_or_how_to_get_it(
    reclaim: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\necho codex-cli 9.8.7\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    agents = {agent["name"]: agent for agent in reclaim("agents", "list", "--json").json["agents"]}
    assert {"replay", "nothing", "constant", "copy", "human", "model"} <= set(agents)
    assert all(agent["note"] for agent in agents.values())
    assert (agents["codex"]["installed"], agents["codex"]["version"]) == (True, "codex-cli 9.8.7")
    missing = agents["opencode"]
    assert (missing["installed"], missing["version"]) == (False, None) and "npm install" in missing["note"]
    assert agents["human"]["kind"] == "human" and agents["copy"]["kind"] == "null"
    text = reclaim("agents", "list").out
    assert "codex-cli 9.8.7" in text and "missing: npm install" in text


def test_the_doctor_says_what_is_missing_and_how_to_get_it(
    reclaim: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    ran = reclaim("doctor")
    assert ran.code == 0  # without an engine an attempt can still run in a plain process
    assert re.search(r"^missing container engine +no container engine answers", ran.out, re.M)
    assert "-> without it cells run unsandboxed" in ran.out
    document = reclaim("doctor", "--json").json
    assert document["can_run"] is True
    checks = {check["name"]: check for check in document["checks"]}
    assert checks["container engine"]["ok"] is False
    assert checks["kernelspecs"]["ok"] is True  # installed with the package
    assert all(check["remedy"] for check in document["checks"] if not check["ok"])


def test_the_doctor_is_1_when_no_attempt_can_run(
    reclaim: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RECLAIM_BOXES", str(tmp_path / "none"))
    ran = reclaim("doctor")
    assert ran.code == 1
    assert re.search(r"^MISSING sockets", ran.out, re.M)
    assert "no attempt can run" in ran.out


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_status_stays_readable_in_a_narrow_terminal(
    reclaim: Call, runs: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = reclaim("status", runs)
    head, _, first, *_ = ran.out.splitlines()
    assert "paper" in head and "outcome" in head
    assert first.startswith("small/") or columns == 200
    assert any(word in first for word in ("disqualified", "reproduced"))
    assert ("a wider terminal shows also: tier, spent" in ran.out) == (columns < 100)
