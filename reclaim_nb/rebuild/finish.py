"""The last steps: a frozen suite out of signed cards, and what has become of one on a later day."""

from __future__ import annotations

import hashlib
import random
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.frozen import CANARY
from reclaim_nb.papers.loading import CARD_FILE, LoadedCard
from reclaim_nb.papers.signature import public_key, sign
from reclaim_nb.papers.suite import MANIFEST, dump_yaml, frozen_manifest, load_suite
from reclaim_nb.rebuild import folder as disk
from reclaim_nb.rebuild.ask import probe_candidates
from reclaim_nb.rebuild.folder import Folder, Later, RebuildError
from reclaim_nb.rebuild.gather import entries
from reclaim_nb.rebuild.review import Final, chosen, final
from reclaim_nb.rebuild.services import GITHUB, Services
from reclaim_nb.record.files import sync_folder

ERRATA = "errata.md"


def freeze(folder: Folder, version: str, date: str, *, key: Path | None = None) -> Path:
    """Write the suite: cards, manifest with hashes and seal, canary, dev split, errata file.

    Args:
        folder: the rebuild.
        version: of the suite.
        date: of the freeze.
        key: an SSH key to sign the manifest with, see :mod:`reclaim_nb.papers.signature`.

    Returns:
        The suite's folder.

    Raises:
        RebuildError: a selected card lacks its signatures or its self-test, or the suite is there already.
        CardError: the manifest cannot be signed with that key.
    """
    settings = folder.settings
    place = folder.path / "suite" / settings.suite
    if place.exists():
        raise RebuildError(
            f"{place}: is there already; a frozen suite is never written again, take another version's folder"
        )
    finals = {paper: final(folder, paper) for paper in chosen(folder)}
    open_ = [f"{paper}: {one.why}" for paper, one in finals.items() if one.state in ("waiting", "disagreement")]
    open_ += [f"{paper}: {why}" for paper, one in finals.items() if one.card and (why := _untested(folder, paper, one))]
    if open_:
        raise RebuildError("the suite cannot be frozen yet: " + "; ".join(open_))
    cards = {one.card["id"]: one for one in finals.values() if one.card is not None}
    if not cards:
        raise RebuildError("no card was accepted, so there is nothing to freeze")
    part = place.with_name(f".{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    canary = CANARY + hashlib.sha256(f"{settings.suite} {version} {settings.seed}".encode()).hexdigest()[:32]
    for slug, one in sorted(cards.items()):
        assert one.card is not None
        (part / slug).mkdir()
        card = {**one.card, "notes": f"{canary}. Signed: {'; '.join(one.signers)}."}
        disk.put(part / slug / CARD_FILE, card_yaml(card).encode())
    entries = sorted(f"{slug}/{CARD_FILE}" for slug in cards)
    manifest = frozen_manifest(
        part,
        name=settings.suite,
        title=settings.title,
        description=f"{len(entries)} cards of {settings.venue}.",
        version=version,
        date=date,
        canary=canary,
        dev=random.Random(f"{settings.seed}:dev").sample(entries, min(settings.policy.dev, len(entries) - 1)),
        signers=sorted({signer.partition(" (")[0] for one in cards.values() for signer in one.signers}),
        key=public_key(key) if key is not None else None,
    )
    disk.put(part / MANIFEST, manifest)
    disk.put(part / ERRATA, f"# Errata of {settings.suite} {version}\n\nNone yet. Cards are never changed.\n".encode())
    if key is not None:
        sign(part / MANIFEST, key)
    load_suite(part)  # what cannot be loaded is not published
    part.rename(place)
    sync_folder(place.parent)
    return place


def card_yaml(card: dict[str, Any]) -> str:
    """Return a card as YAML, numbers with the digits the paper prints."""
    typed = PaperCard.model_validate(card)
    return dump_yaml(_like(card, typed.model_dump(mode="python", by_alias=True)))


def _like(given: Any, typed: Any) -> Any:
    """Take the typed values of those fields that were given."""
    if isinstance(given, dict) and isinstance(typed, dict):
        return {name: _like(value, typed.get(name)) for name, value in given.items()}
    if isinstance(given, list) and isinstance(typed, list | tuple):
        return [_like(one, other) for one, other in zip(given, typed, strict=True)]
    return typed


def _untested(folder: Folder, paper: str, one: Final) -> str | None:
    made = folder.made(paper, "selftest")
    if made is None:
        return "no self-test was made"
    if made.result.get("card_sha256") != card_hash(one.card or {}):
        return "the self-test was made with another card; make it again"
    return f"the self-test fails: {'; '.join(made.result['problems'])}" if made.result["problems"] else None


def card_hash(card: dict[str, Any]) -> str:
    """Return the hash of a card's content."""
    return hashlib.sha256(disk.json_bytes(card)).hexdigest()


def drift(folder: Folder, services: Services, date: str) -> dict[str, Any]:
    """Ask again about everything the frozen cards rest on, and mark the cards that have decayed.

    Args:
        folder: the rebuild with its frozen suite.
        services: must not answer from the rebuild's own cache.
        date: of the look.

    Returns:
        The record, as it was written to ``drift.<date>.json``.

    Raises:
        RebuildError: nothing was frozen.
    """
    place = folder.path / "suite" / folder.settings.suite
    if not place.is_dir():
        raise RebuildError(f"{place}: not there; `reclaim rebuild freeze` comes first")
    rows = []
    for loaded in load_suite(place):
        probe = folder.made(str(loaded.card.openreview), "probe")
        assert probe is not None
        changes, unclear = [], []
        for old in probe.result["answers"]:
            try:
                new = probe_candidates(services, [{k: old[k] for k in ("part", "url", "place")}])[0]
                changes += _changes(services, old, new)
            except Later as problem:
                unclear.append(str(problem))
        if loaded.card.arxiv is not None:
            try:
                changes += _newer(folder, services, loaded)
            except Later as problem:
                unclear.append(str(problem))
        decayed = [one for one in changes if one["decays"]]
        state = "decayed" if decayed else "unclear" if unclear else "changed" if changes else "as frozen"
        rows.append({"card": loaded.name, "state": state, "changes": changes, "unclear": unclear})
    record = {"schema": 1, "suite": folder.settings.suite, "date": date, "cards": rows}
    folder.put(folder.path / f"drift.{date}.json", record)
    return record


def _newer(folder: Folder, services: Services, loaded: LoadedCard) -> list[dict[str, Any]]:
    """Return that the preprint has a newer version than the one whose numbers stand on the card."""
    matched = folder.made(str(loaded.card.openreview), "match")
    assert matched is not None
    read = matched.result["preprint"]["version"]
    for one in entries(services, id_list=loaded.card.arxiv or ""):
        if one.id == loaded.card.arxiv and one.version > read:
            told = f"version {one.version} is there, and the card's numbers are those of version {read}"
            return [{"what": f"preprint {one.id}", "change": told, "decays": False}]
    return []


def _changes(services: Services, old: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]]:
    good = ("ok", "moved")
    what = f"{old['part']} {old['url']}"
    found = []
    if old["state"] != new["state"]:
        decays = old["state"] in good and new["state"] not in good
        found.append({"what": what, "change": f"{old['state']} -> {new['state']}: {new['why']}", "decays": decays})
    if old["commit"] and new["commit"] and old["commit"] != new["commit"]:
        gone = False
        if old["part"] == "code":
            path = urlsplit(new["now"]).path.strip("/")
            gone = services.get(f"{GITHUB}/repos/{path}/commits/{old['commit']}").status in (404, 422)
        told = "the frozen commit is gone" if gone else f"newer commit {new['commit']}"
        found.append({"what": what, "change": told, "decays": gone})
    if (old.get("license") or None) != (new.get("license") or None) and new["state"] in good:
        found.append({"what": what, "change": f"licence {old.get('license')} -> {new.get('license')}", "decays": False})
    return found
