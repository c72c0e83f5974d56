"""Statistics against values known from elsewhere, and against what must hold whatever the data."""

from __future__ import annotations

from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from analysis_helpers import card, write_attempt
from hypothesis import given, settings
from hypothesis import strategies as st

from reclaim_nb.analysis import criteria, pairs, rates, repeats, spend, tables
from reclaim_nb.analysis.columns import ATTEMPTS, typed
from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.analysis.markup import FORMATS, fine_percent, percent
from reclaim_nb.analysis.outcomes import OUTCOMES, STANDINGS, standing
from reclaim_nb.attempts.reasons import ENDINGS


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return a frame of attempts; what a row does not say is ordinary."""
    base = {"tier": "run", "agent": "a", "conditions": "", "repeat": 1, "state": "ended", "batch": "b", "makings": 1}
    filled = []
    for number, row in enumerate(rows):
        row = {**base, "attempt": f"x{number}", "paper_key": f"p{number}", **row}
        won = row.get("standing") == "success"
        filled.append({"outcome": "reproduced" if won else "not_reproduced", **row})
    return typed(filled, ATTEMPTS)


def many(success: int, failure: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"standing": s, "paper_key": f"p{n}", **more}
        for n, s in enumerate(["success"] * success + ["failure"] * failure)
    ]


def rate(table: pd.DataFrame, base: str, way: str = "not_reproduced") -> dict[Any, Any]:
    return table[(table["base"] == base) & (table["ungraded_as"] == way)].to_dict("records")[0]


def test_standing_of_every_outcome_and_end_reason() -> None:
    for outcome, expected in OUTCOMES.items():
        assert standing(outcome, "submitted", "ended") == expected
        assert standing(outcome, "submitted", "running") == "missing"
    for reason, ending in ENDINGS.items():
        assert (standing("reproduced", reason, "ended") == "success") == ending.counts
        assert (standing(None, reason, "ended") == "excluded") == (not ending.counts)
    assert standing("a word of tomorrow", "submitted", "ended") == "undecided"
    assert set(OUTCOMES.values()) <= set(STANDINGS)


def test_wilson_interval_of_the_literature() -> None:
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
    for k, n, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        assert rates.wilson(k, n) == pytest.approx((low, high), abs=5e-5)


def test_ungraded_is_counted_both_ways_and_excluded_only_over_papers() -> None:
    rows = [*many(2, 2), {"standing": "undecided", "paper_key": "u"}]
    rows += [{"standing": "excluded", "paper_key": "e"}, {"standing": "missing", "paper_key": "m"}]
    table = rates.rates(frame(*rows))
    found = {
        (base, way): (rate(table, base, way)["reproduced"], rate(table, base, way)["n"])
        for base in rates.BASES
        for way in rates.UNGRADED_AS
    }
    assert found == {
        ("graded", "not_reproduced"): (2, 4),
        ("graded", "reproduced"): (2, 4),
        ("attempts", "not_reproduced"): (2, 5),
        ("attempts", "reproduced"): (3, 5),
        ("papers", "not_reproduced"): (2, 7),
        ("papers", "reproduced"): (5, 7),
    }
    names = ("declared", "graded", "ungraded", "excluded", "missing")
    assert [rate(table, "papers")[name] for name in names] == [7, 4, 1, 1, 1]


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from(list(STANDINGS)), st.integers(0, 4), st.sampled_from("xy")), min_size=1, max_size=25
    )
)
def test_rates_hold_together_whatever_the_data(rows: list[tuple[str, int, str]]) -> None:
    table = rates.rates(frame(*({"standing": s, "paper_key": f"p{p}", "agent": a} for s, p, a in rows)))
    for row in table.to_dict("records"):
        assert 0 <= row["reproduced"] <= row["n"]
        assert row["graded"] + row["ungraded"] + row["excluded"] + row["missing"] == row["declared"]
        if row["n"]:
            assert -1e-9 <= row["low"] <= row["rate"] + 1e-9
            assert row["rate"] - 1e-9 <= row["high"] <= 1 + 1e-9
            assert 1 <= row["effective_n"] <= row["n"]
    assert table[table["base"] == "papers"]["declared"].sum() == 2 * len(rows)


def test_repeats_on_one_paper_are_worth_less_than_as_many_papers() -> None:
    alike = [
        {"standing": "success" if p < 5 else "failure", "paper_key": f"p{p}", "repeat": r}
        for p in range(10)
        for r in range(1, 5)
    ]
    mixed = [
        {"standing": "success" if (p + r) % 2 else "failure", "paper_key": f"p{p}", "repeat": r}
        for p in range(10)
        for r in range(1, 5)
    ]
    same, differing = (rate(rates.rates(frame(*rows)), "graded") for rows in (alike, mixed))
    assert same["rate"] == differing["rate"] == 0.5
    assert same["effective_n"] == pytest.approx(10, abs=1.5)  # forty attempts that say no more than ten papers
    assert differing["effective_n"] == 40
    assert same["high"] - same["low"] > 1.5 * (differing["high"] - differing["low"])


def test_best_of_tier_shares_a_row_between_equals() -> None:
    rows = [
        *many(2, 1, agent="b"),
        *many(2, 1, agent="a"),
        *many(1, 2, agent="c"),
        *many(0, 3, agent="d", tier="retrain"),
    ]
    best = rates.best_of_tier(frame(*rows)).to_dict("records")
    assert [(row["tier"], row["agent"], row["reproduced"]) for row in best] == [
        ("run", "a = b", 2),
        ("retrain", "d", 0),
    ]


def test_mcnemar_is_exact_and_corrected_for_many_agents() -> None:
    def agent(name: str, wins: str) -> list[dict[str, Any]]:
        return [
            {"agent": name, "paper_key": f"p{n}", "standing": "success" if w == "1" else "failure"}
            for n, w in enumerate(wins)
        ]

    table = pairs.compare_agents(frame(*agent("a", "1111111100"), *agent("b", "0000000011"), *agent("c", "1111111100")))
    found = {(row["first"], row["second"]): row for row in table[table["tier"] == "run"].to_dict("records")}
    p = 2 * sum(comb(10, k) for k in range(3)) / 2**10  # eight against two: twice the binomial tail
    assert found["a", "b"]["p"] == pytest.approx(p)
    assert (found["a", "b"]["only_first"], found["a", "b"]["only_second"], found["a", "b"]["n"]) == (8, 2, 10)
    assert found["a", "b"]["p_corrected"] == pytest.approx(3 * p)  # Holm: the smallest of three
    assert found["a", "c"]["p"] == 1.0


def test_only_papers_of_both_agents_are_compared() -> None:
    rows = [{"agent": "a", "paper_key": f"p{n}", "standing": "success"} for n in range(4)]
    rows += [{"agent": "b", "paper_key": f"p{n}", "standing": "failure"} for n in range(2, 6)]
    rows += [{"agent": "b", "paper_key": "p0", "standing": "undecided"}]
    row = pairs.compare_agents(frame(*rows), by_tier=False).to_dict("records")[0]
    assert (row["n"], row["left_out"], row["ungraded"]) == (2, 4, 1)


@pytest.mark.parametrize(("how", "expected"), [("first", False), ("any", True), ("majority", True)])
def test_which_of_several_repeats_counts(how: Any, expected: bool) -> None:
    rows = [{"paper_key": "p", "repeat": r, "standing": s} for r, s in ((2, "success"), (1, "failure"), (3, "success"))]
    assert bool(pairs.per_paper(frame(*rows), repeats=how).iloc[0, 0]) is expected


def test_effect_of_a_condition_is_paired() -> None:
    rows = []
    for n in range(8):  # a hard and an easy half; the condition helps at three hard papers
        rows.append({"paper_key": f"p{n}", "standing": "success" if n >= 4 else "failure"})
        rows.append({"paper_key": f"p{n}", "conditions": "gate", "standing": "success" if n >= 1 else "failure"})
    rows.append({"paper_key": "alone", "conditions": "gate", "standing": "success"})
    row = pairs.condition_effect(frame(*rows), "gate").to_dict("records")[0]
    assert (row["n"], row["left_out"], row["with"], row["without"], row["difference"]) == (8, 1, 0.875, 0.5, 0.375)
    # Student's interval of three ones and five zeros: mean 3/8, sd 0.5175, t(7) 2.3646.
    assert (row["low"], row["high"]) == pytest.approx((-0.0577, 0.8077), abs=1e-3)
    assert row["p"] == pytest.approx(0.25)  # all signs the same, of three that can be flipped: 2 / 2**3


def test_a_condition_that_changes_nothing_gets_no_interval_out_of_nothing() -> None:
    rows = [{"paper_key": f"p{n}", "conditions": c, "standing": "success"} for n in range(5) for c in ("", "gate")]
    row = pairs.condition_effect(frame(*rows), "gate").to_dict("records")[0]
    assert row["difference"] == 0
    assert pd.isna(row["low"])
    assert row["p"] == 1.0


def test_pass_at_k_is_the_unbiased_estimator() -> None:
    rows = [{"paper_key": "p", "repeat": r, "standing": "success" if r <= 2 else "failure"} for r in range(1, 6)]
    rows += [{"paper_key": "q", "repeat": r, "standing": "failure"} for r in range(1, 4)]
    table = repeats.pass_at_k(frame(*rows)).set_index("k")
    for k in range(1, 4):
        assert table.loc[k, "pass_at_k"] == pytest.approx((1 - comb(3, k) / comb(5, k)) / 2)
    assert list(table["too_few"]) == [0, 0, 0, 1, 1]
    assert table.loc[4, "pass_at_k"] == 1.0  # of five with two successes, any four hold one; the other paper cannot say


def test_spend_of_failures_knows_mean_aggregate_and_what_is_unknown() -> None:
    rows = [
        {"standing": "failure", "of_budget": share, "spent_hours": share * b, "budget_hours": b, "of_need": None}
        for share, b in ((0.1, 8), (0.5, 96))
    ]
    rows += [{"standing": "success", "of_budget": 0.9, "spent_hours": 7.2, "budget_hours": 8}, {"standing": "failure"}]
    budget, need = spend.spend_of_failed(frame(*rows)).to_dict("records")
    assert (budget["n"], budget["unknown"], budget["mean"]) == (2, 1, pytest.approx(0.3))
    assert budget["aggregate"] == pytest.approx((0.8 + 48) / 104)
    assert (need["n"], need["unknown"]) == (0, 3)
    assert pd.isna(need["mean"])


def test_the_interval_of_a_mean_is_drawn_over_papers() -> None:
    shares, papers = pd.Series([0.01, 0.02, 0.02, 0.05, 0.9, 0.1]), pd.Series(list("abcdef"))
    low, high = rates.mean_interval(shares, papers)
    assert 0.01 < low < shares.mean() < high < 0.9  # Student's would be -0.19 to 0.56
    often = rates.mean_interval(pd.concat([shares] * 20, ignore_index=True), pd.concat([papers] * 20))
    assert often == pytest.approx((low, high))  # the same said twenty times is no more papers
    assert np.isnan(rates.mean_interval(shares[:4], papers[:4])).all()
    assert np.isnan(rates.mean_interval(shares * 0, papers)).all()


def test_repeats_of_one_paper_narrow_no_interval() -> None:
    once = [
        {"paper_key": str(n), "standing": "failure", "of_budget": n / 9, "self_report": "reproduced"} for n in range(9)
    ]
    for statistic in (spend.stopped_early, spend.success_by_spend, tables.overclaims):
        few, many = (statistic(frame(*rows)) for rows in (once, once * 7))
        assert list(many["n"]) == list(7 * few["n"])
        for name in ("rate", "low", "high", "effective_n"):
            assert many[name].tolist() == pytest.approx(few[name].tolist(), nan_ok=True), (statistic, name)


def test_a_share_is_never_written_as_less_than_nothing() -> None:
    assert (percent(-0.001), fine_percent(-0.0001), FORMATS["difference"](-0.001)) == ("0 %", "0.0 %", "+0 %")
    assert (percent(-0.01), FORMATS["difference"](-0.01)) == ("-1 %", "-1 %")


def test_stopping_early_is_below_half_of_budget_and_of_known_need() -> None:
    shares = ((0.4, 0.4), (0.4, 0.6), (0.6, 0.1), (0.4, None), (None, None))
    rows = [{"standing": "failure", "of_budget": b, "of_need": n} for b, n in shares]
    row = spend.stopped_early(frame(*rows)).to_dict("records")[0]
    assert (row["early"], row["n"], row["need_unknown"]) == (2, 4, 1)


def test_success_by_spend_puts_every_graded_attempt_into_one_bin() -> None:
    rows = [{"standing": "success" if n % 3 else "failure", "of_budget": n / 10} for n in range(12)]
    table = spend.success_by_spend(frame(*rows))
    assert table["n"].sum() == 12
    assert table["reproduced"].sum() == 8
    assert table.iloc[-1]["n"] == 2  # at and beyond the budget


def test_odds_are_given_only_where_they_can_be_estimated() -> None:
    told = [{"standing": "success" if n >= 10 else "failure", "of_budget": (n + 1) / 20} for n in range(20)]
    assert pd.isna(spend.spend_odds(frame(*told)).iloc[0]["odds_ratio"])  # spend tells success apart completely
    mixed = [{"standing": "success" if n % 2 else "failure", "of_budget": (n + 1) / 20} for n in range(20)]
    row = spend.spend_odds(frame(*mixed)).iloc[0]
    assert row["low"] < row["odds_ratio"] < row["high"]


def test_outcomes_add_up_to_what_was_declared(batch: Path) -> None:
    attempts = load_runs(batch).attempts
    table = tables.outcomes(attempts)
    assert table["count"].sum() == len(attempts)
    assert {"reproduced", "blocked", "needs_human", "cancelled", "dead_runner"} <= set(table["outcome"].astype(str))


def test_causes_are_of_failures_only(batch: Path) -> None:
    table = tables.causes(load_runs(batch).attempts)
    assert dict(zip(table["cause"], table["primary"], strict=True)) == {"C07": 1, "C12": 1, "C14": 1}
    assert table["share"].sum() == pytest.approx(1)


def test_claims_against_verdicts(batch: Path) -> None:
    table = tables.overclaims(load_runs(batch).attempts).set_index("what")
    assert (table.loc["claimed, not reproduced", "count"], table.loc["claimed, not reproduced", "n"]) == (2, 7)
    assert (table.loc["reproduced, not claimed", "count"], table.loc["reproduced, not claimed", "n"]) == (0, 5)
    assert tables.claims(load_runs(batch).attempts)["count"].sum() == 8


def test_agreement_of_two_graders(tmp_path: Path) -> None:
    from analysis_helpers import write_verdict

    told = (
        [("reproduced", "reproduced")] * 3 + [("not_reproduced", "not_reproduced")] * 2 + [("reproduced", "near_miss")]
    )
    for repeat, (first, second) in enumerate(told, start=1):
        write_verdict(write_attempt(tmp_path, card(), repeat=repeat, outcome=first), second, grader="model")
    write_attempt(tmp_path, card(), repeat=9, outcome="reproduced")
    row = tables.agreement(load_runs(tmp_path).verdicts).to_dict("records")[0]
    assert (row["first"], row["second"], row["n"], row["agree"], row["left_out"]) == ("model", "rules", 6, 5, 1)
    # Observed 5/6, by chance (3*4 + 2*2 + 1*0) / 36.
    assert row["kappa"] == pytest.approx((5 / 6 - 16 / 36) / (1 - 16 / 36))


def test_strict_criterion_flips_only_what_was_decided_by_distance(tmp_path: Path) -> None:
    strict = {
        "rule": "within",
        "low": "0.989",
        "high": "0.991",
        "basis": "narrow",
        "value": "0.99",
        "direction": "higher",
    }
    narrow = card("narrow", strict=strict)
    write_attempt(tmp_path, narrow, repeat=1, outcome="reproduced", value="0.982")
    write_attempt(tmp_path, narrow, repeat=2, outcome="reproduced", value="0.99")
    write_attempt(tmp_path, narrow, repeat=3, outcome="disqualified", cause="C12", value="0.99")
    write_attempt(tmp_path, narrow, repeat=4, outcome="not_reproduced", cause="C08", value="0.99")
    write_attempt(tmp_path, card("plain", strict=None), outcome="reproduced", value="0.98")
    runs = load_runs(tmp_path)
    table = criteria.by_criterion(runs).set_index(["criterion", "attempt"])["outcome"]
    found = [str(table["strict", f"b/toys/narrow/replay/0{n}"]) for n in range(1, 5)]
    assert found == ["near_miss", "reproduced", "disqualified", "not_reproduced"]
    assert table["strict", "b/toys/plain/replay/01"] == "reproduced"  # no strict criterion: the published one decides
    (row,) = criteria.flips(runs).to_dict("records")
    assert (row["paper"], row["n"], row["published"], row["reproduced_then"], row["lost"], row["gained"]) == (
        "narrow",
        4,
        2,
        1,
        1,
        0,
    )


def test_flags_take_imported_successes_away_in_a_criterion_of_their_own(release: Runs) -> None:
    table = criteria.by_criterion(release)
    won = table[table["standing"] == "success"].groupby("criterion").size().to_dict()
    assert won == {"published": 3, "strict": 3, "unflagged": 2}


def test_cost_counts_failed_and_ungraded_attempts_too(batch: Path) -> None:
    rows = {row["agent"]: row for row in spend.cost(load_runs(batch).attempts).to_dict("records")}
    assert rows["good"]["hours"] == pytest.approx(0.04)
    assert rows["good"]["hours_per_success"] == pytest.approx(0.04 / 3)
    assert rows["poor"]["n"] == 7
    assert rows["poor"]["usd_unknown"] == 7


def test_no_attempts_give_empty_tables_not_errors() -> None:
    nothing = typed([], ATTEMPTS)
    for table in (
        rates.rates(nothing),
        rates.best_of_tier(nothing),
        pairs.compare_agents(nothing),
        repeats.pass_at_k(nothing),
    ):
        assert table.empty
    assert spend.spend_of_failed(nothing)["n"].sum() == 0
    assert tables.outcomes(nothing).empty


def test_effective_n_is_that_of_a_clustered_regression() -> None:
    random = np.random.default_rng(11)
    for _ in range(40):
        n = int(random.integers(4, 60))
        success = pd.Series(random.random(n) < random.uniform(0.2, 0.8)).astype(int)
        papers = pd.Series(random.integers(0, max(2, n // 3), n)).map("p{}".format)
        clusters, rate = papers.nunique(), success.mean()
        if clusters < 2 or clusters == n or rate in (0.0, 1.0):
            continue
        fit = sm.OLS(success.to_numpy(float), np.ones(n)).fit(
            cov_type="cluster", cov_kwds={"groups": pd.factorize(papers)[0]}
        )
        wanted = np.clip(rate * (1 - rate) / fit.bse[0] ** 2, clusters, n) if fit.bse[0] > 0 else n
        assert rates.effective_n(success, papers) == pytest.approx(wanted)
