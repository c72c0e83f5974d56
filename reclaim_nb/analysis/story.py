"""The story of a runs folder, part by part, as tables, pictures and sentences: what the report's notebook shows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from reclaim_nb.analysis import criteria, pairs, rates, reference, repeats, spend, tables
from reclaim_nb.analysis.beside import PaperPrinter
from reclaim_nb.analysis.figures import FIGURES, figure
from reclaim_nb.analysis.figures.style import darken
from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.analysis.markup import (
    Format,
    Picture,
    Table,
    Text,
    bounded,
    fine_percent,
    markdown_text,
    number,
    percent,
    png,
)
from reclaim_nb.analysis.outcomes import CAUSES, STANDINGS, TIERS
from reclaim_nb.analysis.uncounted import sentences
from reclaim_nb.bulk import uncollected
from reclaim_nb.errors import RecordError

_MOST_PAIRS = 60
_SEVERAL = (
    " Papers were attempted several times; intervals are those of as many independent attempts as the effective n."
)
_MOST_TIMELINES = 4
_LOOKED_AT = 25
"""How many attempts are looked at for one whose cells ran; where none of the costliest has any, none is drawn."""
_OTHERS = ["excluded", "ungraded", "missing"]

Shown = Table | Picture | Text


class Story:
    """Parts of a report. A part that has nothing to say says so in a sentence.

    Args:
        runs: the runs folder, or frames that were loaded already.
        batches: batches to report on; default: all.
        out: folder for the tables and pictures as files, None to write none.

    Raises:
        RecordError: when there is no such folder, or no such batch in it.
    """

    def __init__(self, runs: Path | str | Runs, batches: Iterable[str] = (), out: Path | str | None = None) -> None:
        loaded = runs if isinstance(runs, Runs) else load_runs(runs)
        wanted = list(batches)
        known = {*loaded.attempts["batch"], *loaded.left_out["batch"]}
        if unknown := sorted(set(wanted) - known):
            there = ", ".join(sorted(known)) or "none"
            raise RecordError(f"{loaded.path}: there is no batch {', '.join(unknown)}; there are {there}")
        self.runs = loaded.only(batch=wanted) if wanted else loaded
        self.out = None if out is None else Path(out)
        self._printer = None if out is None else PaperPrinter(self.runs)
        self._imported = self.runs.attempts["imported"].fillna(False).astype(bool)

    @property
    def attempts(self) -> pd.DataFrame:
        """The frame of attempts that the report is about."""
        return self.runs.attempts

    def heading(self) -> Text:
        """What is reported on, and what to know before any number is read."""
        counts = rates.tally(self.attempts)
        names = [markdown_text(str(name)) for name in sorted(self.attempts["batch"].unique())]
        agents = sorted(self.attempts["agent"].dropna().unique())
        lines = [
            f"**{_count(len(names), 'batch', 'batches')}**: {', '.join(names[:12])}{' …' if len(names) > 12 else ''}. "
            f"{_count(len(agents), 'agent')}, {_count(self.attempts['paper_key'].nunique(), 'paper')}, "
            f"{_count(counts['declared'], 'declared attempt')}: {counts['graded']} graded "
            f"({counts['reproduced']} reproduced), {counts['ungraded']} ended and not graded, "
            f"{counts['excluded']} no result of the agent, {counts['missing']} not ended."
        ]
        began, last = self.attempts["started"].min(), self.attempts["updated"].max()
        if pd.notna(began):
            lines.append(f"First event {began:%Y-%m-%d %H:%M} UTC, last {last:%Y-%m-%d %H:%M} UTC.")
        if faults := int(self.attempts["faults"].sum()):
            lines.append(
                f"{_count(faults, 'making')} ended by a fault of the harness or a cancelling; none is a failure."
            )
        if unsandboxed := int(self.attempts["unsandboxed"].fillna(False).sum()):
            lines.append(f"**{_count(unsandboxed, 'attempt')} ran unsandboxed**, as plain processes.")
        if told := sentences(self.runs.left_out):
            lines.append(f"**Left out of everything below**: {markdown_text('; '.join(told))}.")
        if imported := int((self._imported & (self.attempts["makings"] > 0)).sum()):
            lines.append(f"{_count(imported, 'attempt')} imported: made elsewhere, and no record of ours backs it.")
        return Text("\n\n".join(lines))

    def lead(self) -> Text:
        """The result in a few sentences: the best agent of each tier, and what failures cost."""
        best = rates.best_of_tier(self.attempts)
        if best.empty:
            return Text("No attempt has been declared, so there is no rate.")
        parts = [
            f"**{row['tier']}**: {markdown_text(str(row['agent']))} {percent(row['rate'])} "
            f"({row['reproduced']} of {row['n']}, {_bounds(row)})"
            for row in best.to_dict("records")
        ]
        lines = ["Best agent of each tier, over all declared attempts: " + "; ".join(parts) + "."]
        lost = _first(spend.spend_of_failed(self.attempts), measure="of_budget")
        if lost["n"]:
            early = spend.stopped_early(self.attempts).to_dict("records")[0]
            lines.append(
                f"Failed attempts used {fine_percent(lost['mean'])} of their budget on average "
                f"({_bounds(lost, fine_percent)}; median {fine_percent(lost['median'])}; "
                f"{fine_percent(lost['aggregate'])} of all hours granted to them); {percent(early['rate'])} of them "
                f"({early['early']} of {early['n']}) "
                "stopped early, with less than half of budget and known need spent."
            )
        causes = tables.causes(self.attempts).dropna(subset=["cause"]).sort_values("primary", ascending=False)
        if len(causes):
            top = causes.to_dict("records")[0]
            lines.append(
                f"The most frequent cause of failure: {CAUSES[top['cause']]} ({top['cause']}), "
                f"{top['primary']} of {top['n']} failures."
            )
        return Text("\n\n".join(lines))

    def batches(self) -> Table:
        """What each batch holds."""
        rows = []
        for key, group in rates.groups(self.attempts, ("batch", "suite")):
            rows.append(
                {
                    **key,
                    "papers": group["paper_key"].nunique(),
                    "agents": group["agent"].nunique(),
                    **rates.tally(group),
                    "makings": int(group["makings"].sum()),
                    "faults": int(group["faults"].sum()),
                    "kernels": ", ".join(sorted(group["kernel"].dropna().unique())) or "imported",
                }
            )
        return self._table(
            "batches", "What each batch holds; makings are how often attempts were begun.", pd.DataFrame(rows)
        )

    def rates(self) -> Table:
        """Rates by tier and agent, over all three bases."""
        frame = rates.rates(self.attempts)
        return self._table(
            "rates",
            "Reproduced, with 95 % Wilson intervals: of graded attempts, and of all declared ones with what is not "
            "graded counted both ways.",
            frame,
            wide=_wide(_neutral(frame)),
        )

    def best(self) -> Table:
        """The best agent of each tier, of declared and of graded attempts."""
        frames = [rates.best_of_tier(self.attempts, base) for base in ("papers", "graded")]
        frame = pd.concat(frames, ignore_index=True).drop(columns="ungraded_as")
        return self._table(
            "best",
            "Best agent of each tier; being chosen for it makes its rate look better than it is.",
            frame,
            interval="rate",
        )

    def against_text(self) -> Table | Text:
        """Where the published text and the published records differ; only with imported runs."""
        frame = reference.against_text(self.attempts[self._imported]) if self._imported.any() else pd.DataFrame()
        if frame.empty:
            return Text("No published runs are among these, so nothing is set against the published text.")
        return self._table(
            "published",
            f"Figures in the published text beside the published records: "
            f"{int((~frame['agree'].astype(bool)).sum())} of {len(frame)} differ.",
            frame,
        )

    def scores(self) -> Table | Text:
        """Imported sweeps: graded runs, mean score, reproduced, hours, as the release prints them."""
        if not self._imported.any():
            return Text("")
        frame = rates.scores(self.attempts[self._imported])
        checked = [
            reference.against_sweeps(self.runs.path, str(batch), group)
            for batch, group in self.attempts[self._imported].groupby("batch")
        ]
        checked = [one for one in checked if not one.empty]
        caption = "Imported sweeps."
        if checked:
            right = sum(int(one["agree"].sum()) for one in checked)
            caption = f"Imported sweeps; {right} of {sum(map(len, checked))} equal the release's own totals."
        return self._table("sweeps", caption, frame)

    def outcomes(self) -> Table | Text:
        """Outcomes by tier."""
        frame = tables.outcomes(self.attempts, by=("tier",))
        if frame.empty:
            return Text("Nothing has become of anything yet.")
        wide = frame.pivot(index="outcome", columns="tier", values="count").fillna(0).astype(int)
        wide.columns = [str(tier) for tier in wide.columns]
        wide["all"] = wide.sum(axis=1)
        wide = wide.sort_values("all", ascending=False, kind="stable").reset_index()
        return self._table("outcomes", f"Outcomes of all {len(self.attempts)} declared attempts, by tier.", wide)

    def causes(self) -> Table | Text:
        """Causes of failures."""
        frame = tables.causes(self.attempts)
        if frame.empty:
            return Text("No attempt has failed, so there is no cause.")
        names = [CAUSES.get(code, "none named") for code in frame["cause"].astype(object)]
        frame.insert(1, "meaning", names)
        return self._table(
            "causes",
            "Primary cause of failed attempts; contributing: how often the cause was named beside another.",
            frame,
        )

    def spend(self) -> Table | Text:
        """What failed attempts spent, by tier and agent."""
        frame = pd.concat(
            [spend.spend_of_failed(self.attempts), spend.spend_of_failed(self.attempts, by=("tier",))],
            ignore_index=True,
        )
        frame = _some(frame)
        if frame.empty:
            return Text("No attempt has failed with a known spend.")
        frame.insert(0, "of", frame.pop("measure").str.removeprefix("of_"))
        frame.insert(1, "tier", frame.pop("tier").astype("string").fillna("all"))
        frame = frame.drop(columns=["q25", "q75"])
        # A mean over shares of the need says nothing where some papers need next to nothing.
        frame.loc[frame["of"] == "need", ["mean", "low", "high"]] = float("nan")
        return self._table(
            "spend",
            "Spend of failed attempts as a share of budget and need; aggregate: all their hours over all hours granted "
            "or needed. Intervals: bootstrap over papers, from five papers on. No mean over the need, which is next to "
            "nothing for some papers.",
            frame,
            interval="mean",
            formats=dict.fromkeys(("mean", "low", "high", "median", "aggregate"), fine_percent),
        )

    def stopped_early(self) -> Table | Text:
        """Share of failed attempts that stopped early."""
        frame = pd.concat(
            [spend.stopped_early(self.attempts), spend.stopped_early(self.attempts, by=("tier",))], ignore_index=True
        )
        frame = _some(frame)
        if frame.empty:
            return Text("No attempt has failed with a known spend.")
        frame.insert(0, "tier", frame.pop("tier").astype("string").fillna("all"))
        return self._table(
            "stopped_early",
            "Failed attempts that spent less than half of the budget, and of the need where that is known.",
            frame,
            interval="rate",
        )

    def odds(self) -> Table | Text:
        """Success against spend, in one number per tier."""
        frame = spend.spend_odds(self.attempts, by=("tier",))
        frame = _some(frame)
        if frame.empty or frame["odds_ratio"].isna().all():
            return Text("Too few attempts to say how success goes with spend.")
        return self._table(
            "spend_odds",
            "How the odds of success change when spend doubles (logistic regression, errors clustered by paper); none "
            "where spend alone tells success, or attempts are too few.",
            frame,
            formats=dict.fromkeys(("low", "high"), lambda value: f"{float(value):.2f}"),
            interval="odds_ratio",
        )

    def pairs(self) -> Table | Text:
        """Agents compared on the same papers."""
        neutral = self.attempts[self.attempts["conditions"] == ""]
        frame = pairs.compare_agents(neutral)
        frame = _some(frame)
        if frame.empty:
            return Text("No two agents have graded attempts at the same paper.")
        columns = [*("tier", "first", "second", "n", "both", "only_first", "only_second", "neither", "difference")]
        frame = frame[[*columns, "p", "p_corrected", "different", "left_out", "ungraded", "excluded"]]
        return self._table(
            "pairs",
            "Agents on the papers that both have a graded attempt at, by the first one that was graded: exact McNemar "
            "test, Holm's correction in a tier.",
            frame,
            most=_MOST_PAIRS,
        )

    def repeats(self) -> Table | Text:
        """pass@k."""
        frame = repeats.pass_at_k(self.attempts)
        if frame.empty or frame["k"].max() < 2:
            return Text("Every paper was attempted once by each agent, so there is nothing to say of repeats.")
        return self._table(
            "pass_at_k",
            "Chance that at least one of k attempts reproduces a paper, averaged over papers; bootstrap over papers, "
            "from five papers on.",
            _neutral(frame),
            interval="pass_at_k",
        )

    def conditions(self) -> Table | Text:
        """Effects of conditions."""
        names = sorted({name for text in self.attempts["conditions"].dropna() for name in text.split("+") if name})
        frames = [pairs.condition_effect(self.attempts, name) for name in names]
        frames = [frame for frame in frames if not frame.empty]
        if not frames:
            return Text("No agent was run with and without a condition.")
        return self._table(
            "conditions",
            "What a condition changes: rate with it minus rate without it on the same papers, Student's 95 % "
            "interval over papers, p of an exact permutation test.",
            pd.concat(frames, ignore_index=True),
            formats=dict.fromkeys(("low", "high"), lambda value: f"{100 * float(value):+z.0f} %"),
            interval="difference",
        )

    def criteria(self) -> Table | Text:
        """Criteria side by side."""
        frame = criteria.criteria_best(self.runs)
        if frame.empty:
            return Text("No attempt has been declared, so there is no criterion to apply.")
        frame = frame.drop(columns=["ungraded_as", "base"])
        return self._table("criteria", "Best agent of each tier by each criterion.", frame, interval="rate")

    def flips(self) -> Table | Text:
        """Papers whose result depends on the criterion."""
        frame = criteria.flips(self.runs)
        if frame.empty:
            return Text("No paper's result depends on which criterion is taken.")
        return self._table(
            "flips", "Papers at which an attempt is reproduced by one criterion and not by another.", frame
        )

    def claims(self) -> Table | Text:
        """What agents claimed, and what was so."""
        frame = tables.overclaims(self.attempts, by=("agent",))
        frame = _some(frame)
        if frame.empty:
            return Text("No agent has claimed a result that was graded.")
        everything = tables.overclaims(self.attempts).assign(agent="all")
        shown = pd.concat([everything, frame], ignore_index=True)[frame.columns]
        return self._table("claims", "Claims against verdicts.", shown, interval="rate")

    def agreement(self) -> Table | Text:
        """Agreement of graders."""
        frame = tables.agreement(self.runs.verdicts)
        frame = _some(frame)
        if frame.empty:
            return Text("No attempt has verdicts of two graders.")
        return self._table("agreement", "How often two graders give the same outcome.", frame, interval="rate")

    def cost(self) -> Table | Text:
        """What attempts cost."""
        frame = _some(spend.cost(self.attempts, by=("agent", "device")))
        if frame.empty:
            return Text("No attempt has ended, so none has a cost.")
        columns = ["agent", "device", "n", "reproduced", "hours", "hours_per_success", "wall_hours", "tokens"]
        columns += ["usd", "usd_per_success", "usd_unknown", *_OTHERS]
        return self._table(
            "cost",
            "What all ended attempts cost; hours are H100-equivalent GPU-hours, or CPU-hours for cpu papers.",
            frame[columns],
        )

    def left_out(self) -> Table | Text:
        """Declared attempts that no rate over graded attempts holds."""
        rest = self.attempts[~self.attempts["standing"].isin(("success", "failure"))]
        if rest.empty:
            return Text("Every declared attempt was graded.")
        frame = rest[["attempt", "tier", "agent", "standing", "state", "reason", "outcome", "makings"]].copy()
        frame["why"] = [STANDINGS[standing] for standing in rest["standing"]]
        return self._table(
            "left_out", f"{len(frame)} declared attempts without a result.", frame.drop(columns="standing")
        )

    def notes(self) -> Text:
        """What could not be read."""
        if not self.runs.notes:
            return Text("Every record could be read. Whether each is still sound says `reclaim verify-record RUNS`.")
        shown = [f"- {markdown_text(text)}" for text in self.runs.notes[:50]]
        rest = len(self.runs.notes) - len(shown)
        return Text("\n".join([*shown, *([f"- and {rest} more"] if rest > 0 else [])]))

    def all_attempts(self) -> Table:
        """Every declared attempt."""
        columns = [*("attempt", "tier", "state", "reason", "outcome", "cause", "value", "unit", "submitted")]
        columns += ["self_report", "spent_hours", "of_budget", "grader"]
        return self._table(
            "attempts", "Every declared attempt.", self.attempts[columns], formats={"of_budget": percent}
        )

    @uncollected()
    def picture(self, name: str, *args: Any, file: str | None = None) -> Picture:
        """Draw a figure in both themes, and write it for page and screen.

        Args:
            name: of :data:`reclaim_nb.analysis.figures.FIGURES` or of an entry point.
            args: what it needs beside the runs.
            file: name of its files; default: its own.
        """
        paper = self._printer.begin(name, *args) if self._printer is not None else None
        draw = figure(name)
        alt = FIGURES[name][1] if name in FIGURES else name
        drawn = draw(self.runs, *args)
        light = png(drawn)
        if name in FIGURES:
            darken(drawn)
        else:
            drawn = draw(self.runs, *args, theme="dark")
        picture = Picture(file or name, ": ".join([alt, *map(str, args)]), light, png(drawn))
        if self.out is not None and paper is not None:
            folder = self.out / "figures"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{picture.name}-light.png").write_bytes(picture.light)
            (folder / f"{picture.name}-dark.png").write_bytes(picture.dark)
            (folder / f"{picture.name}.pdf").write_bytes(paper())
        return picture

    def timelines(self) -> list[Picture]:
        """Draw a few attempts that tell most: in each tier the costliest failure, and the costliest success."""
        known = self.attempts.sort_values("spent_hours", ascending=False)
        chosen: list[str] = []
        for standing in ("failure", "success"):
            for tier in TIERS:
                found = known[(known["standing"] == standing) & (known["tier"] == tier)]["attempt"]
                ran = (one for one in found[:_LOOKED_AT] if self.runs.cells_of(one)["at_seconds"].notna().any())
                chosen += islice(ran, 1)
        return [
            self.picture("timeline", attempt, file=f"timeline-{place}")
            for place, attempt in enumerate(chosen[:_MOST_TIMELINES], start=1)
        ]

    def _table(self, name: str, caption: str, frame: pd.DataFrame, **options: Any) -> Table:
        if "effective_n" in frame and (frame["effective_n"] != frame["n"]).any():
            caption += _SEVERAL
        elif "effective_n" in frame:
            options.setdefault("wide", frame.drop(columns="effective_n"))
        table = Table(name, caption, frame.reset_index(drop=True), **options)
        if self.out is not None:
            folder = self.out / "tables"
            folder.mkdir(parents=True, exist_ok=True)
            for suffix, text in (("csv", table.to_csv()), ("md", table.to_markdown()), ("tex", table.to_latex())):
                (folder / f"{name}.{suffix}").write_text(text, encoding="utf-8")
        return table


def _first(frame: pd.DataFrame, **wanted: str) -> dict[Any, Any]:
    for row in frame.to_dict("records"):
        if all(row[name] == value for name, value in wanted.items()):
            return row
    raise KeyError(wanted)


def _some(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a statistic that are about anything; without groups a frame has no columns either."""
    return frame[frame["n"] > 0] if "n" in frame else frame


def _bounds(row: dict[Any, Any], write: Format = percent) -> str:
    if pd.isna(row["low"]):
        return "too few for an interval"
    return f"95 % interval {write(row['low']).removesuffix(' %')} to {write(row['high'])}"


def _count(many: int, one: str, several: str | None = None) -> str:
    return f"{number(many)} {one if many == 1 else several or one + 's'}"


def _wide(frame: pd.DataFrame) -> pd.DataFrame:
    """Put the bases and ways of counting of each group beside each other."""
    keys = [name for name in ("tier", "agent", "conditions") if name in frame]
    ways = {
        "of graded": ("graded", "not_reproduced"),
        "of declared": ("papers", "not_reproduced"),
        "of declared, if all else were reproduced": ("papers", "reproduced"),
    }
    rows = []
    for _, group in frame.groupby(keys, observed=True, sort=False):
        found = {(row["base"], row["ungraded_as"]): row for row in group.to_dict("records")}
        one = found["graded", "not_reproduced"]
        rates_of = {
            name: bounded(found[way]["rate"], found[way]["low"], found[way]["high"]) for name, way in ways.items()
        }
        counts = {name: one[name] for name in ("reproduced", "graded", "declared", "ungraded", "excluded", "missing")}
        worth = {"effective_n": found["papers", "not_reproduced"]["effective_n"]}
        rows.append({**{name: one[name] for name in keys}, **rates_of, **counts, **worth})
    wide = pd.DataFrame(rows)
    return wide if (frame["effective_n"] != frame["n"]).any() else wide.drop(columns="effective_n", errors="ignore")


def _neutral(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out the column of conditions where there are none."""
    return frame.drop(columns="conditions") if (frame["conditions"] == "").all() else frame
