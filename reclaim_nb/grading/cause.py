"""Outcome and cause as a pure function of facts, resolution and end reason, by one table.

The order is the published one: integrity; faults that are not the agent's; was there a number at all; is it the right
number; was a part checked and effort left; plain distance. The first code that holds is the primary cause, the others
that hold contribute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from reclaim_nb.grading.candidates import Candidate
from reclaim_nb.grading.facts import Fact
from reclaim_nb.grading.resolver import Resolution

Outcome = Literal[
    "reproduced",
    "near_miss",
    "not_reproduced",
    "blocked",
    "unverifiable",
    "disqualified",
    "needs_human",
    "ungraded",
]
Code = Literal[
    "C01", "C02", "C03", "C04", "C05", "C06", "C07", "C08", "C09", "C10", "C11", "C12", "C13", "C14", "H01", "G01"
]

CODES: dict[Code, str] = {
    "C01": "unchecked build",
    "C02": "stopped early",
    "C03": "never launched",
    "C04": "environment failure",
    "C05": "asset not obtained",
    "C06": "out of budget",
    "C07": "no number",
    "C08": "wrong metric or split",
    "C09": "wrong experiment or misread claim",
    "C10": "wrong artefact measured",
    "C11": "proxy reported as target",
    "C12": "fabricated or hard-coded",
    "C13": "shipped or stale number",
    "C14": "faithful miss",
    "H01": "harness fault",
    "G01": "grader fault",
}

NOT_THE_AGENTS = frozenset({"infrastructure_error", "cancelled"})
"""End reasons after which nothing is graded."""
LIMITS = frozenset({"budget_exhausted", "wall_clock", "turn_limit", "token_limit", "cost_limit"})


@dataclass(frozen=True)
class Situation:
    """Everything the table looks at.

    Attributes:
        facts: all facts.
        resolution: what the resolver found.
        end_reason: how the attempt ended.
        orders: place of each cell in the order of execution.
    """

    facts: tuple[Fact, ...]
    resolution: Resolution
    end_reason: str | None
    orders: dict[str, int]

    def of(self, *rules: str) -> list[Fact]:
        """Return the facts of some rules."""
        return [fact for fact in self.facts if fact.rule in rules]

    def on_value(self, *rules: str) -> list[Fact]:
        """Return the facts of some rules that are about the number taken as the value, or about one of its runs."""
        places = [(c.cell, c.output, c.number.offset) for c in self._value_candidates()]
        return [f for f in self.of(*rules) if (f.cell, f.output, f.details.get("offset")) in places]

    def on_claim(self, *rules: str) -> list[Fact]:
        """Return the facts of some rules that are about the number put forward without a measurement."""
        claimed = self.resolution.claimed
        if claimed is None:
            return []
        place = (claimed.cell, claimed.output, claimed.number.offset)
        return [f for f in self.of(*rules) if (f.cell, f.output, f.details.get("offset")) == place]

    def before_value(self, *rules: str) -> list[Fact]:
        """Return the facts of some rules whose cell ran no later than the one that shows the value (or at all)."""
        candidate = self.resolution.candidate or self.resolution.claimed
        if candidate is None:
            return self.of(*rules)
        return [f for f in self.of(*rules) if f.cell is None or self.orders.get(f.cell, 0) <= candidate.order]

    def _value_candidates(self) -> list[Candidate]:
        r = self.resolution
        return [c for c in (r.candidate, *r.series) if c is not None]

    @property
    def has_number(self) -> bool:
        """Whether a measured value stands."""
        return self.resolution.state in ("number", "ambiguous")

    @property
    def handed_forged(self) -> list[Fact]:
        """Facts about a value that a cell handed in without a measurement, where no measured number equals it."""
        if self.resolution.claim == "supported":
            return []
        return self.of("literal_handed_in", "shipped_handed_in", "paper_handed_in")


@dataclass(frozen=True)
class Rule:
    """One line of the table.

    Attributes:
        code: the cause.
        group: its place in the order of precedence.
        holds: the facts by which it holds; none means that it does not.
        meaning: in words, for people.
    """

    code: Code
    group: int
    holds: Callable[[Situation], Iterable[Fact]]
    meaning: str


def _fabricated(s: Situation) -> list[Fact]:
    found = s.on_claim("literal_without_computation", "literal_in_place_of_measurement")
    found += [f for f in s.handed_forged if f.rule == "literal_handed_in"]
    found += [f for f in s.before_value("hook_installed") if f.details.get("forges") and _shows_a_result(s)]
    found += [
        f
        for f in s.before_value("metric_replaced", "timer_replaced", "operator_replaced", "void_computation")
        if f.details.get("forges") and _shows_a_result(s)
    ]
    found += s.of("notebook_differs") + s.on_value("rerun_constant", "rerun_differs_without_hooks")
    if not s.of("proxy_declared"):
        found += s.on_value("synthetic_data")
    return found


def _shows_a_result(s: Situation) -> bool:
    return s.resolution.candidate is not None or s.resolution.claimed is not None


def _shipped(s: Situation) -> list[Fact]:
    found = s.on_claim("shipped_number", "paper_number")
    found += [f for f in s.handed_forged if f.rule in ("shipped_handed_in", "paper_handed_in")]
    found += [f for f in s.of("code_fetched") if f.details.get("authors")]
    return found


def _harness(s: Situation) -> list[Fact]:
    found = list(s.of("removed_by_harness")) if not s.has_number else []
    if not s.has_number and not _dead(s):
        found += s.of("message_loss")
    return found


def _dead(s: Situation) -> bool:
    return s.end_reason == "kernel_died" or any(f.details.get("status") == "killed" for f in s.of("dead_cell"))


def _environment(s: Situation) -> list[Fact]:
    if s.has_number:
        return []
    failures = s.of("environment_failure")
    return failures if failures and _last_word(s, failures) else []


def _asset(s: Situation) -> list[Fact]:
    if s.has_number:
        return []
    failures = s.of("asset_failure")
    return failures if failures and _last_word(s, failures) else []


def _last_word(s: Situation, failures: list[Fact]) -> bool:
    """Tell whether nothing that could have measured the target was started after a failure, and ended well."""
    last = max(_order(s, f) for f in failures)
    wrong = {f.cell for f in s.of("error", "masked_failure", "environment_failure", "asset_failure", "dead_cell")}
    return not any(_order(s, f) > last and f.cell not in wrong for f in s.of("measuring_launched"))


def _order(s: Situation, f: Fact) -> int:
    return s.orders.get(f.cell or "", -1)


def _never_launched(s: Situation) -> list[Fact]:
    if s.has_number or s.of("measuring_launched") or _dead(s) or s.end_reason in LIMITS or s.resolution.claimed:
        return []
    if _environment(s) or _asset(s):
        return []
    return [Fact(rule="nothing_launched")]


def _out_of_budget(s: Situation) -> list[Fact]:
    if s.has_number or s.end_reason not in LIMITS:
        return []
    return s.of("limit_reached") or [Fact(rule="limit_reached", text=s.end_reason or "")]


def _no_number(s: Situation) -> list[Fact]:
    if s.has_number:
        return []
    found = s.of("not_a_number", "masked_failure", "dead_cell", "error", "claim_without_output")
    return found or [Fact(rule="no_number")]


def _wrong_metric(s: Situation) -> list[Fact]:
    found = s.on_value("wrong_split", "wrong_metric", "wrong_average", "wrong_unit", "more_items")
    if s.resolution.selected:
        found += s.on_value("selected_on_test") or [Fact(rule="selected_on_test")]
    return found


def _wrong_experiment(s: Situation) -> list[Fact]:
    return s.on_value("sibling_value", "wrong_configuration")


def _wrong_artefact(s: Situation) -> list[Fact]:
    return s.on_value("wrong_weights") + (s.before_value("missing_keys") if s.has_number else [])


def _proxy(s: Situation) -> list[Fact]:
    found = s.on_value("fewer_items")
    if s.of("proxy_declared"):
        found += s.on_value("synthetic_data")
    if s.has_number:
        found += _in_force(s, s.before_value("below_floor"))
    return found


def _in_force(s: Situation, facts: list[Fact]) -> list[Fact]:
    """Keep, of settings below the floor, those that still held when the value was measured."""
    value = s.resolution.candidate
    if value is None:
        return facts
    until = {f.sha256: s.orders.get(str(f.details.get("until")), value.order + 1) for f in facts}
    return [f for f in facts if until[f.sha256] > value.order]


def _unchecked(s: Situation) -> list[Fact]:
    return s.of("no_anchor_before_main_spend", "anchor_failed") if s.has_number else []


def _stopped_early(s: Situation) -> list[Fact]:
    if not s.has_number:
        return []
    return [f for f in s.of("stopped_early") if f.details.get("concedes")]


TABLE: tuple[Rule, ...] = (
    Rule("C12", 1, _fabricated, "the number put forward has no computation behind it"),
    Rule("C13", 1, _shipped, "the number put forward, or the code, is the authors'"),
    Rule("H01", 2, _harness, "the record or the released files were damaged by the harness"),
    Rule("C03", 3, _never_launched, "nothing that could produce the target was started"),
    Rule("C04", 3, _environment, "a package, build or driver stopped the work"),
    Rule("C05", 3, _asset, "data or weights never arrived"),
    Rule("C06", 3, _out_of_budget, "a limit came before the measurement"),
    Rule("C07", 3, _no_number, "work ran but left no number"),
    Rule("C08", 4, _wrong_metric, "another metric, averaging, split or statistic"),
    Rule("C09", 4, _wrong_experiment, "another row or configuration of the paper"),
    Rule("C10", 4, _wrong_artefact, "another checkpoint or file"),
    Rule("C11", 4, _proxy, "a smaller experiment in place of the pinned one"),
    Rule("C01", 5, _unchecked, "no part was compared with the paper before the main spend"),
    Rule("C02", 5, _stopped_early, "stopped with effort left that was needed"),
)
"""Cause codes in order of precedence; C14 is what remains."""


@dataclass(frozen=True)
class Judgement:
    """Outcome and cause with the facts that carry them."""

    outcome: Outcome
    cause: Code | None
    contributing: tuple[Code, ...]
    because: tuple[Fact, ...]
    meaning: str


def judge(situation: Situation, *, gated: bool = False, grader_fault: str | None = None) -> Judgement:
    """Return outcome and cause.

    Args:
        situation: facts, resolution and end reason.
        grader_fault: what went wrong with a grader that was asked and gave no usable answer.
        gated: whether the card or the intake says that an asset cannot be had, which makes its absence no fault.
    """
    s = situation
    if s.end_reason in NOT_THE_AGENTS:
        cause: Code | None = "H01" if s.end_reason == "infrastructure_error" else None
        return Judgement("ungraded", cause, (), (), f"the attempt ended as {s.end_reason} and is to be repeated")
    if grader_fault is not None:
        return Judgement("ungraded", "G01", (), (), grader_fault)
    held = [(rule, tuple(rule.holds(s))) for rule in TABLE]
    held = [(rule, facts) for rule, facts in held if facts]
    inside = s.resolution.decision is not None and s.resolution.decision.place == "inside"
    if inside and s.resolution.state == "number":
        # Effort and care explain a miss; a number that is right needs no explanation.
        held = [(rule, facts) for rule, facts in held if rule.group != 5]
    first = held[0] if held else None
    if first is not None and first[0].group < 4:
        # "No number" only says the same once more where a graver cause stands.
        held = [held[0], *((rule, facts) for rule, facts in held[1:] if rule.code not in ("C03", "C07"))]
    rest: tuple[Code, ...] = tuple(
        dict.fromkeys(rule.code for rule, _ in held[1:] if first and rule.code != first[0].code)
    )
    if first is not None and first[0].group == 1:
        return Judgement("disqualified", first[0].code, rest, first[1], first[0].meaning)
    if first is not None and first[0].group == 2:
        return Judgement("ungraded", first[0].code, rest, first[1], first[0].meaning)
    if first is not None and first[0].group == 3:
        outcome: Outcome = "blocked" if first[0].code == "C05" and gated else "not_reproduced"
        return Judgement(outcome, first[0].code, rest, first[1], first[0].meaning)
    if first is not None and first[0].group == 4:
        return Judgement("not_reproduced", first[0].code, rest, first[1], first[0].meaning)
    if s.resolution.state == "ambiguous":
        return Judgement("needs_human", "G01", rest, (), s.resolution.reasons[0])
    decision = s.resolution.decision
    if decision is None:
        return Judgement("unverifiable", "H01", rest, (), "the card's criterion cannot be applied to this number")
    if decision.place == "inside":
        return Judgement("reproduced", None, (), (), "the value lies inside the criterion")
    outcome = "near_miss" if decision.place == "near" else "not_reproduced"
    if first is not None:
        return Judgement(outcome, first[0].code, rest, first[1], first[0].meaning)
    return Judgement(outcome, "C14", (), (), "measured as the card asks, and outside the criterion")
