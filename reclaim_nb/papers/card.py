"""The paper card: everything that was fixed before any attempt, as one typed document."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reclaim_nb.papers.criterion import Baseline, Criterion, Decision, Within
from reclaim_nb.papers.numbers import CONTEXT, Number, half_last_digit
from reclaim_nb.papers.transforms import Transform

Tier = Literal["run", "retrain", "reimplement"]
Device = Literal["gpu", "cpu"]
AuditState = Literal["sound", "doubtful", "broken"]
Confidence = Literal["high", "medium", "low"]
BarKind = Literal["point_estimate", "direction", "threshold", "range", "magnitude"]

SLUG = r"^[a-z0-9]+([-.][a-z0-9]+)*$"
SHA256 = r"^[0-9a-f]{64}$"


Hours = Annotated[Number, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RemoteFile(_Part):
    """One file to be fetched, with the hash its bytes must have."""

    url: str | None = None
    path: str | None = Field(default=None, pattern=r"^[^/\\\x00-\x1f][^\\\x00-\x1f]*$")
    """Where it lies in the release, with forward slashes; on a hub, its name there. Default: the url's last part."""
    sha256: str | None = Field(default=None, pattern=SHA256)
    size: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _named(self) -> RemoteFile:
        if self.url is None and self.path is None:
            raise ValueError("a file needs a url, or the path it has in the repository of its part")
        if self.path is not None and {".", "..", ""} & set(self.path.split("/")):
            raise ValueError(f"path {self.path!r} does not stay inside the release")
        return self


class Code(_Part):
    """The authors' code."""

    url: str | None = None
    commit: str | None = None
    license: str | None = None
    note: str | None = None


class Data(_Part):
    """One data set the target needs."""

    name: str
    url: str | None = None
    access: Literal["public", "registration", "gated", "request", "unavailable"] = "public"
    revision: str | None = None
    """Commit of a repository that holds the data."""
    files: tuple[RemoteFile, ...] = ()
    """What to fetch; without it a repository whole, and nothing from a page."""


class Weights(_Part):
    """Trained parameters the authors published; ``note`` says so where there is nothing to load."""

    url: str | None = None
    license: str | None = None
    note: str | None = None
    revision: str | None = None
    """Commit of a repository that holds the weights."""
    files: tuple[RemoteFile, ...] = ()
    """What to fetch; without it a repository whole, and nothing from a page."""


class Release(_Part):
    """What the authors published. A link that does not hold the target's experiment belongs under ``links``."""

    code: Code | None = None
    data: tuple[Data, ...] = ()
    weights: Weights | None = None

    @property
    def tier(self) -> Tier:
        """No code: reimplement. Code without weights, or without data: retrain. All three: run."""
        if self.code is None:
            return "reimplement"
        return "run" if self.weights is not None and self.data else "retrain"


class Sibling(_Part):
    """Another number of the paper that is easily taken for the target: another row, split or variant."""

    what: str
    value: Number
    unit: str | None = None


class Target(_Part):
    """The one result to reproduce."""

    claim: str = Field(min_length=1)
    metric: str = Field(min_length=1)
    words: tuple[str, ...] = ()
    """How the metric may be named in an output, for the number resolver; the metric itself always counts."""
    value: Number | None
    printed: str | None = None
    """The value in the paper's own characters, where they say more than the number (``~0 cm``, ``8.56 kB``)."""
    unit: str = Field(min_length=1)
    direction: Literal["higher", "lower", "none"]
    scope: str | None = None
    where: str | None = None
    split: str | None = None
    n: int | None = Field(default=None, gt=0)
    """Items the metric is computed on."""
    seeds: int | None = Field(default=None, gt=0)
    reported_std: Number | None = None
    statistic: str | None = None
    """What over seeds is reported: mean, median, best."""
    bar: BarKind | None = None
    """What kind of statement the paper makes."""
    baseline: Baseline | None = None
    siblings: tuple[Sibling, ...] = ()
    transforms: tuple[Transform, ...] = ()
    config: str | None = None
    """The exact settings behind the number. Withheld from agents."""


class Anchor(_Part):
    """Another number of the paper that is cheap to check before the budget is spent."""

    name: str = Field(pattern=SLUG)
    what: str = Field(min_length=1)
    value: Number
    unit: str
    tolerance: Number | None = Field(default=None, ge=0)
    """In the anchor's unit; half the last printed digit where none is given."""

    def decide(self, value: Decimal) -> Decision:
        """Place a measured number against the anchor's value and tolerance, both in the anchor's unit."""
        room = self.tolerance if self.tolerance is not None else half_last_digit(self.value)
        low, high = CONTEXT.subtract(self.value, room), CONTEXT.add(self.value, room)
        return Within(rule="within", value=self.value, low=low, high=high, basis="anchor").decide(value)


class Need(_Part):
    """Hours the experiment takes by audit, in H100-equivalent GPU-hours, or CPU-hours for ``device: cpu``."""

    hours: Hours | None
    basis: Literal["measured", "paper_reported", "derived", "unspecified"] = "unspecified"
    source: str | None = None
    devices: int | None = Field(default=None, gt=0)
    hardware: str | None = None
    wall_clock_hours: Hours | None = None
    factor: Number | None = None


class Budget(_Part):
    """Hours granted, in the same unit as the need."""

    hours: Annotated[Number, Field(gt=0)]
    rationale: str = Field(min_length=1)


class Environment(_Part):
    """What the paper's experiment ran in."""

    python: str | None = None
    framework: str | None = None
    cuda: str | None = None
    packages: tuple[str, ...] = ()


class Gold(_Part):
    """A gold run: what the authors' own route, or the reference notebook, really gives."""

    value: Number | None
    spread: str | None = None
    seeds: int | None = Field(default=None, gt=0)
    route: str
    """The command or notebook that was run."""
    commit: str | None = None
    device: str
    seconds: Number | None = Field(default=None, ge=0)
    """Device seconds of the whole route."""
    date: str | None = None
    packages: tuple[str, ...] = ()
    note: str | None = None


class Audit(_Part):
    """What a reader of the card has to know before trusting a rate that contains it."""

    state: AuditState = "sound"
    reasons: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _reasons_given(self) -> Audit:
        if self.state != "sound" and not self.reasons:
            raise ValueError(f"state '{self.state}' needs at least one reason")
        return self


class Checked(_Part):
    """How the target value was seen; withheld from agents."""

    value_seen_in: tuple[str, ...] = ()
    confidence: Confidence = "high"


class Source(_Part):
    """Where a fact on the card comes from."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    purpose: str = Field(alias="for")
    url: str | None = None


class Links(_Part):
    """Addresses named beside the paper, whether or not they hold the target's experiment."""

    paper: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    """Other cards of the same paper, as ``suite/slug``."""


class Network(_Part):
    """What an attempt may reach under the network policy ``allowlist``; withheld from agents."""

    allow: tuple[str, ...] = ()
    """Hosts: ``example.com``, ``.example.org`` with all below it, each with ``:port`` where it is not 80 or 443."""
    block: tuple[str, ...] = ()
    """Addresses that would hand over the authors' work, with forks and mirrors: ``host`` or ``host/path``."""


class PaperCard(_Part):
    """``paper.yaml``: what was fixed in advance about one paper and its target."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    id: str = Field(pattern=SLUG)
    title: str = Field(min_length=1)
    authors: tuple[str, ...] = ()
    venue: str | None = None
    track: str | None = None
    presentation: str | None = None
    openreview: str | None = None
    arxiv: str | None = Field(default=None, pattern=r"^\d{4}\.\d{4,5}$")
    area: str | None = None
    summary: str | None = None
    release: Release
    device: Device = "gpu"
    target: Target
    criterion: Criterion | None
    """The published bar, exactly as published."""
    strict: Criterion | None = None
    """A second criterion with its derivation, where the published bar is void."""
    need: Need
    budget: Budget
    anchors: tuple[Anchor, ...] = ()
    environment: Environment = Environment()
    text: RemoteFile | None = None
    """The paper's text to fetch (Markdown, plain text, HTML or PDF); without it arXiv's, where there is an arXiv id."""
    network: Network = Network()
    commands: tuple[str, ...] = ()
    gold: Gold | None = None
    audit: Audit = Audit()
    doubts: tuple[str, ...] = ()
    pitfalls: tuple[str, ...] = ()
    checked: Checked = Checked()
    sources: tuple[Source, ...] = ()
    links: Links = Links()
    notes: str | None = None

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        if "tier" in raw:
            raise ValueError("tier is computed from the release and never typed in; delete the key 'tier'")
        target = raw.get("target")
        raw = dict(raw)
        if isinstance(target, dict):
            for name in ("criterion", "strict"):
                rule = raw.get(name)
                if isinstance(rule, dict):
                    given = {"value": target.get("value"), "direction": target.get("direction", "none")}
                    raw[name] = {**given, **rule}
        return raw

    @model_validator(mode="after")
    def _coherent(self) -> PaperCard:
        if self.criterion is None and self.audit.state != "broken":
            raise ValueError("a card without a criterion must have audit state 'broken', with the reason")
        for name, rule in (("criterion", self.criterion), ("strict", self.strict)):
            if rule is None:
                continue
            if rule.value != self.target.value:
                raise ValueError(f"{name}.value {rule.value} differs from target.value {self.target.value}")
            if rule.direction != self.target.direction:
                raise ValueError(f"{name}.direction differs from target.direction")
            if rule.rule == "beats" and self.target.direction == "none":
                raise ValueError(f"{name} 'beats' needs a target direction of higher or lower")
        names = [anchor.name for anchor in self.anchors]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two anchors are called '{name}'")
        return self

    @property
    def tier(self) -> Tier:
        """The tier, computed from the release."""
        return self.release.tier

    @property
    def blocked(self) -> tuple[str, ...]:
        """Addresses of the authors' code, forks and mirrors, where the paper is to be done without them."""
        if self.tier != "reimplement":
            return self.network.block
        return tuple(dict.fromkeys((*self.network.block, *self.links.code)))

    @property
    def hours_unit(self) -> str:
        """What need and budget are counted in."""
        return "CPU-hours" if self.device == "cpu" else "H100-hours"

    @property
    def provisional(self) -> bool:
        """Whether the card is left out of rates by default because its value was only seen second-hand."""
        return self.checked.confidence == "low"

    def anchor(self, name: str) -> Anchor | None:
        """Return the anchor of that name, or None."""
        return next((a for a in self.anchors if a.name == name), None)
