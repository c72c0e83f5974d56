"""The parts of the pipeline that are arithmetic and rules: match, bounds, hours, draw."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from reclaim_nb.errors import CardError
from reclaim_nb.rebuild.bounds import Noise, Rival, derive
from reclaim_nb.rebuild.choose import Entry, choose
from reclaim_nb.rebuild.hours import (
    band_of,
    flops_hours,
    grant,
    in_hours,
    need,
    read_flops,
    read_sentence,
    training_flops,
)
from reclaim_nb.rebuild.match import Preprint, match, normalised, overlap

D = Decimal
US = ("Ada Lovelace", "Émile Borel", "Grace Hopper")


def entry(id: str, title: str, authors: tuple[str, ...] = US) -> Preprint:
    return Preprint(id, 1, title, authors)


def test_titles_are_compared_by_their_words():
    assert normalised("Deep {E}nsembles:  A $\\beta$-Study") == normalised("deep ensembles - a  β study")
    assert normalised("A $\\beta$-Study") != normalised("An $\\alpha$-Study")
    assert normalised("A Study of X") != normalised("A Study of XY")
    assert overlap(US, ("Lovelace, A.", "E. Borel", "G. Hopper")) == 1
    assert overlap(US, ("Ada Other",)) == 0


def test_a_near_title_is_no_match_and_the_best_is_never_taken():
    found = [entry("2611.00001", "Learning to Rank with Noise"), entry("2611.00002", "Learning to Rank With Noises")]
    one = match("Learning to rank with noisE", US, found)
    assert (one.how, one.preprint and one.preprint.id) == ("title", "2611.00001")
    none = match("Learning to Rank with Less Noise", US, found)
    assert none.preprint is None and "no entry has this very title (2 looked at)" in none.why


@pytest.mark.parametrize("turn", [1, -1])
def test_the_same_title_needs_the_same_authors(turn):
    found = [entry("2611.00001", "On Rank", ("Some One", "Else Who")), entry("2611.00002", "On Rank")][::turn]
    assert match("On Rank", US, found).preprint == entry("2611.00002", "On Rank")
    assert "by others" in match("On Rank", ("X Y", "Some One", "P Q"), found[:1] if turn == 1 else found[1:]).why
    two = match("On Rank", US, [*found, entry("2611.00003", "On rank")])
    assert two.preprint is None and "2611.00002, 2611.00003" in two.why


def test_an_id_counts_only_with_its_authors():
    moved = entry("2611.00004", "An Older Title")
    assert match("On Rank", US, [moved], "2611.00004").how == "id"
    other = entry("2611.00005", "On Rank", ("Some One",))
    assert match("On Rank", US, [other], "2611.00005").preprint is None
    assert "no such entry" in match("On Rank", US, [entry("2611.00002", "On Rank")], "2611.09999").why


def test_a_reported_spread_gives_the_interval_of_one_further_run():
    bar = derive(D("84.3"), "percent", "higher", Noise(std=D("0.4"), seeds=5))
    assert bar.route == "spread" and bar.criterion is not None
    assert (bar.criterion.low, bar.criterion.high) == (D("83.08"), D("85.52"))  # t(4) = 2.776, x 0.4 x sqrt(1.2)


def test_seeds_items_and_default_in_that_order():
    seeds = derive(D("10.0"), "points", "higher", Noise(values=(D(9), D(10), D(11))))
    assert seeds.route == "seeds"
    binomial = derive(D("98.89"), "percent", "higher", Noise(n=900), counted=True)
    assert binomial.route == "binomial" and binomial.criterion is not None
    assert binomial.criterion.high < 100 and D("97.9") < binomial.criterion.low < D("98.1")
    boot = derive(D("0.50"), "nats", "lower", Noise(items=tuple(i / 100 for i in range(101))), seed=3)
    again = derive(D("0.50"), "nats", "lower", Noise(items=tuple(i / 100 for i in range(101))), seed=3)
    assert boot == again and boot.route == "bootstrap" and boot.criterion is not None
    plain = derive(D("20"), "perplexity", "lower", Noise())
    assert plain.criterion is not None and (plain.criterion.low, plain.criterion.high) == (D("19"), D("21"))


def test_the_default_never_passes_the_whole():
    bar = derive(D("98.89"), "percent", "higher", Noise())
    assert bar.criterion is not None
    assert (bar.criterion.low, bar.criterion.high) == (D("98.335"), D("99.445"))
    assert derive(D("130"), "percent", "higher", Noise()).criterion is None


def test_a_rival_inside_refuses_the_card():
    near = derive(D("84.3"), "percent", "higher", Noise(), [Rival("small variant", D("84.0"))])
    assert near.criterion is None and near.refusals == (
        "small variant = 84.0 lies inside 80.085 to 88.515 percent, bounds included",
    )
    base = derive(D("84.3"), "percent", "higher", Noise(std=D("0.1"), seeds=5), baseline=Rival("ERM", D("80.1")))
    assert base.criterion is not None
    edge = derive(D("20"), "perplexity", "lower", Noise(), baseline=Rival("MDLM", D("21")))
    assert edge.criterion is None  # bounds count as inside


def test_a_baseline_that_is_better_shows_a_wrong_direction():
    bar = derive(D("21.7"), "perplexity", "higher", Noise(), baseline=Rival("MDLM", D("24.0")))
    assert bar.criterion is None and "the direction or a number is wrong" in bar.refusals[0]


@pytest.mark.parametrize(
    ("quote", "hours"),
    [
        ("We train on 8 NVIDIA A100 GPUs for 18 hours.", "45.36"),
        ("Training takes 90 minutes on a single V100.", "0.189"),
        ("The model was trained for 2 days on four H100 GPUs.", "192"),
        ("Training costs 64 A100-hours on 8 A100 GPUs.", "20.16"),
        ("In total 1,200 GPU hours on RTX 3090 were used.", "86.4"),
        ("Evaluation took 1800 s on one H100.", "0.5"),
    ],
)
def test_hours_of_a_sentence(quote, hours):
    assert read_sentence(quote).hours == D(hours)


@pytest.mark.parametrize(
    "quote",
    [
        "We use 8 A100 GPUs.",
        "Training takes 4 hours.",
        "We train on 2 A100 for 3 hours and then 5 hours more.",
        "On one A100 a step takes 30 ms per step.",
        "We ran 3 hours on 2 A7000X.",
    ],
)
def test_sentences_that_say_too_little_or_too_much(quote):
    with pytest.raises(CardError):
        read_sentence(quote)


def test_units_of_time():
    assert in_hours(D(7200000), "ms") == 2
    with pytest.raises(CardError, match="no time"):
        in_hours(D(3), "metre")


def test_device_hours_are_no_wall_clock():
    spent = read_sentence("Training costs 64 A100-hours on 8 A100 GPUs.")
    assert spent.devices is None and spent.wall_clock_hours is None


def test_flops_and_the_second_route():
    assert read_flops("needs 3.2e21 FLOPs in all") == D("3.2e21")
    assert read_flops("about 2.5 EFLOPs") == D("2.5e18")
    with pytest.raises(CardError):
        read_flops("it reaches 300 TFLOPs/s")
    assert training_flops(D("1e9"), D("2e10")) == D("1.2e20")
    low, middle, high = flops_hours(D("1.424e18"))
    assert (low, middle, high) == (D("0.7999"), D("0.9999"), D("1.9998"))


def test_need_brings_routes_together():
    one = read_sentence("We train on 8 NVIDIA A100 GPUs for 18 hours.")
    same = need([one, one])
    assert same.hours == D("45.36") and not same.doubts
    two = need([one, read_sentence("Fine-tuning took 2 hours on one H100.")])
    assert two.hours == D("45.36") and two.low == 2 and "parts or two accounts" in two.doubts[0]
    far = need([one], D("1.4e18"))
    assert "times apart" in far.doubts[0]
    assert need([], D("1.424e18")).basis == "derived"
    assert need([]).hours is None


@pytest.mark.parametrize(
    ("hours", "given", "band"),
    [("0.1", "0.5", "0-8"), ("1", "3", "0-8"), ("8", "24", "0-8"), ("8.01", "24.03", "8-32"), ("40", "96", "32-96")],
)
def test_budget(hours, given, band):
    got = grant(D(hours))
    assert (got.hours, got.band, got.refusal) == (D(given), band, None)
    assert f"need {hours}" in got.rationale


def test_budget_refuses_what_policy_does_not_pay():
    assert grant(D(97)).refusal == "the need of 97 hours exceeds the cap of 96"
    assert band_of(D(97)) == "above"


def test_the_draw_is_stratified_seeded_and_blind_to_order():
    entries = [
        Entry(f"p{i:03}", tier, band)
        for i, (tier, band) in enumerate(
            [("run", "0-8")] * 40 + [("retrain", "8-32")] * 5 + [("reimplement", "32-96")] * 2
        )
    ]
    first = choose(entries, 9, 7)
    assert {s.tier: len(s.taken) for s in first} == {"run": 4, "retrain": 3, "reimplement": 2} or sum(
        len(s.taken) for s in first
    ) == 9
    assert all(len(s.taken) >= 2 for s in first)
    mixed = random.Random(1).sample(entries, len(entries))
    assert choose(mixed, 9, 7) == first
    assert choose(entries, 9, 8) != first
    assert sum(len(s.taken) for s in choose(entries, 100, 7)) == 47
    gone = {one for s in first for one in s.taken}
    kept = [e for e in entries if e.id in gone or e.tier != "run"]
    assert {one for s in choose(kept, 9, 7) for one in s.taken} == gone
