"""From probe and two readings to a drafted card: everything on it has a source and a place, or it is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pydantic import ValidationError

from reclaim_nb.errors import CardError
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.numbers import convertible, format_decimal, half_last_digit, parse_decimal, unit
from reclaim_nb.rebuild.bounds import Noise, Rival, derive
from reclaim_nb.rebuild.doubts import direction_doubt, unit_slips, version_doubt
from reclaim_nb.rebuild.extract import Extraction, Reader, described
from reclaim_nb.rebuild.folder import Folder, Policy, Refused, read_json
from reclaim_nb.rebuild.hours import Needed, grant, need, read_flops, read_sentence


def draft(
    folder: Folder,
    reader: Reader | None,
    paper: dict[str, Any],
    matched: dict[str, Any],
    reading: dict[str, Any],
    probed: dict[str, Any],
) -> dict[str, Any]:
    """Draft a card from two readings that agree, or from the one a person chose.

    Returns:
        ``card`` with ``sources``, or ``question`` with what the readings disagree on.

    Raises:
        Refused: no usable reading, no criterion that tells the claim from its rivals, no need, or one above the cap.
    """
    name = paper["id"]
    read = [
        reader.read(folder, name, paper["title"], reading, number)
        if reader is not None
        else _kept(folder, name, number)
        for number in (1, 2)
    ]
    settled = read_json(folder.file(name, "settled"))
    if settled is not None:
        chosen = read[settled["pick"] - 1]
        if chosen is None:
            raise Refused(f"reading {settled['pick']} was chosen by {settled['by']} and is void")
    else:
        if read[0] is None and read[1] is None:
            raise Refused("neither reading by the model could be verified in the paper's text")
        if read[0] is None or read[1] is None:
            return {"question": "only one of two readings could be verified in the paper's text", "settled": None}
        first, second = read[0].key, read[1].key
        apart = {k: [first[k], second[k]] for k in first if first[k] != second[k]}
        if apart:
            told = "; ".join(f"{k}: {a} or {b}" for k, (a, b) in apart.items())
            return {"question": f"the readings disagree: {told}", "settled": None}
        chosen = read[0]
    made = assemble(paper, matched, reading, probed, chosen, folder.settings.policy, folder.settings.seed)
    return {**made, "settled": settled}


def _kept(folder: Folder, paper: str, number: int) -> Extraction | None:
    kept = read_json(folder.file(paper, f"said.{number}"))
    if kept is None:
        raise CardError(f"{paper}: no reading is kept; run the step with --model")
    return Extraction.model_validate(kept["taken"]) if kept["taken"] is not None else None


def assemble(
    paper: dict[str, Any],
    matched: dict[str, Any],
    reading: dict[str, Any],
    probed: dict[str, Any],
    found: Extraction,
    policy: Policy,
    seed: int = 0,
) -> dict[str, Any]:
    """Return the card of one reading with the source of each fact.

    Raises:
        Refused: see :func:`draft`.
    """
    value = parse_decimal(found.value)
    rivals = [Rival(one.what, parse_decimal(one.value)) for one in found.siblings]
    baseline = Rival(found.baseline.what, parse_decimal(found.baseline.value)) if found.baseline is not None else None
    noise = Noise(
        std=parse_decimal(found.std.value) if found.std else None,
        seeds=int(parse_decimal(found.seeds.value)) if found.seeds else None,
        n=int(parse_decimal(found.n.value)) if found.n else None,
    )
    bar = derive(
        value,
        found.unit,
        found.direction,
        noise,
        rivals,
        baseline=baseline,
        default=policy.default_tolerance,
        counted=found.counted,
        seed=seed,
    )
    needed = _need(found)
    reasons = list(bar.refusals)
    if needed.hours is None:
        reasons.append(f"no need: {needed.source}")
    granted = grant(needed.hours or Decimal(0), cap=policy.cap_hours, times=policy.times, floor=policy.floor_hours)
    if granted.refusal is not None:
        reasons.append(granted.refusal)
    if reasons:
        raise Refused("; ".join(reasons))
    assert bar.criterion is not None
    preprint = matched["preprint"]
    where = f"{reading['kind']} of {reading['version']}"
    doubts = [
        *needed.doubts,
        *unit_slips(value, found.unit, [*([baseline] if baseline is not None else []), *rivals]),
        *filter(None, (direction_doubt(found.metric, found.direction), version_doubt(paper, preprint))),
    ]
    sources = [
        {"for": f"{name} = {text}: {described(reading, at.place)} of the {where}: {at.quote}", "url": reading["url"]}
        for name, text, at in found.figures()
    ]
    sources += [{"for": f"need: {at.place} of the {where}: {at.quote}", "url": reading["url"]} for at in found.hours]
    if found.flops is not None:
        sources.append({"for": f"need by FLOPs: {found.flops.place}: {found.flops.quote}", "url": reading["url"]})
    sources += [
        {"for": f"{a['part']}: {a['place']}; asked {a['day']}: {a['why']}", "url": a["url"]} for a in probed["answers"]
    ]
    card: dict[str, Any] = {
        "schema": 1,
        "id": paper["slug"],
        "title": paper["title"],
        "authors": paper["authors"],
        "venue": paper["venue"],
        "openreview": paper["id"],
        "arxiv": preprint["id"] if preprint else None,
        "area": paper["area"],
        "release": probed["release"],
        "device": "gpu",
        "target": {
            "claim": found.claim,
            "metric": found.metric,
            "value": _text(value),
            "unit": found.unit,
            "direction": found.direction,
            "where": f"{described(reading, found.at.place)}, {where}",
            "split": found.split,
            "n": noise.n,
            "seeds": noise.seeds,
            "reported_std": _text(noise.std),
            "bar": "point_estimate",
            "baseline": {"name": baseline.what, "value": _text(baseline.value)} if baseline else None,
            "siblings": [{"what": one.what, "value": _text(one.value)} for one in rivals],
            "config": found.config,
        },
        "criterion": {
            "rule": "within",
            "low": _text(bar.criterion.low),
            "high": _text(bar.criterion.high),
            "basis": bar.basis,
        },
        "need": _need_document(needed),
        "budget": {"hours": _text(granted.hours), "rationale": f"{granted.rationale}; band {granted.band}."},
        "anchors": _anchors(found, value),
        "doubts": doubts,
        "checked": {"value_seen_in": [f"{where}, {found.at.place}"], "confidence": "high"},
        "sources": [
            *sources,
            {"for": f"title, authors and venue: OpenReview note {paper['id']}", "url": paper["forum"]},
        ],
    }
    card = {"release": {}, **_without_none(card)}
    try:
        checked = PaperCard.model_validate(card)
    except ValidationError as problem:
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in problem.errors()[:5])
        raise Refused(f"the card does not hold together: {told}") from None
    return {"card": card, "tier": checked.tier, "band": granted.band, "route": bar.route, "budget": granted.rationale}


def _need(found: Extraction) -> Needed:
    spent, doubts = [], []
    for at in found.hours:
        try:
            spent.append(read_sentence(at.quote))
        except CardError as problem:
            doubts.append(str(problem))
    flops = None
    if found.flops is not None:
        try:
            flops = read_flops(found.flops.quote)
        except CardError as problem:
            doubts.append(str(problem))
    got = need(spent, flops)
    if got.hours is None and doubts:
        return Needed(None, None, None, "unspecified", "; ".join(doubts))
    return Needed(**{**vars(got), "doubts": (*got.doubts, *doubts)})


def _need_document(needed: Needed) -> dict[str, Any]:
    low, high = _text(needed.low), _text(needed.high)
    return {
        "hours": _text(needed.hours),
        "basis": needed.basis,
        "source": f"{needed.source}; range {low} to {high}" if low != high else needed.source,
        "devices": needed.devices,
        "hardware": needed.hardware,
        "wall_clock_hours": _text(needed.wall_clock_hours),
        "factor": _text(needed.factor),
    }


def _anchors(found: Extraction, value: Decimal) -> list[dict[str, Any]]:
    kept: dict[str, dict[str, Any]] = {}
    for one in found.anchors:
        number = parse_decimal(one.value)
        if number == value and convertible(one.unit, found.unit):
            continue  # the target itself is no anchor
        tolerance = max(half_last_digit(number), abs(number) * Decimal("0.01"))
        name = (
            "-".join("".join(c if c.isalnum() else " " for c in one.name.lower()).split()) or f"anchor-{len(kept) + 1}"
        )
        kept.setdefault(
            name,
            {
                "name": name,
                "what": one.what,
                "value": _text(number),
                "unit": unit(one.unit).name,
                "tolerance": _text(tolerance),
            },
        )
    return list(kept.values())


def _text(value: Decimal | None) -> str | None:
    return None if value is None else format_decimal(value)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        # A missing code repository is said by its absence, as on every card.
        return {k: _without_none(v) for k, v in value.items() if v not in (None, [], {})}
    if isinstance(value, list):
        return [_without_none(v) for v in value]
    return value
