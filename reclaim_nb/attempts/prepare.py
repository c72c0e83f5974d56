"""Before the first cell: find the paper, decide the spec, make the folder, take in the release."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from reclaim_nb.attempts.agent import Agent, make_agent
from reclaim_nb.attempts.conditions import check_conditions, without_effect
from reclaim_nb.attempts.devices import factor_of
from reclaim_nb.attempts.limits import Limits, limits_for
from reclaim_nb.attempts.prompts import render_prompts
from reclaim_nb.attempts.spec import AgentSpec, AttemptSpec, KernelFacts, package_versions
from reclaim_nb.data import data_folder
from reclaim_nb.errors import AttemptError
from reclaim_nb.kernels.kernel import KernelConfig
from reclaim_nb.kernels.network import Policy, Rules
from reclaim_nb.papers.card import Device, PaperCard
from reclaim_nb.papers.intake import Intake, take_in
from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.papers.paper_text import PaperText
from reclaim_nb.papers.suite import find_paper
from reclaim_nb.papers.view import agent_view, as_markdown
from reclaim_nb.record.files import write_atomic
from reclaim_nb.record.folder import AttemptFolder, create_folder
from reclaim_nb.record.workspace import WorkspacePolicy

if TYPE_CHECKING:
    from reclaim_nb.papers.fetch import FetchedRelease

CARD_TAG = "reclaim-card"
"""Tag of the template's Markdown cell that becomes the card as an agent may see it."""

NOTE_TAG = "reclaim-note"
"""Tag of cells that say what is unusual about an attempt, such as a condition without effect."""

KernelKind = Literal["auto", "docker", "local"]


@dataclass(frozen=True)
class Request:
    """What a person or a batch asks for; the names are also the parameters of ``templates/attempt.ipynb``.

    Attributes:
        paper: ``suite/slug`` or the path of a paper folder.
        agent: name of a registered agent; ``model`` and ``options`` are handed to it.
        kernel: ``docker``, ``local``, or ``auto``: docker where an engine and the image are there.
        runs: folder of all attempts.
        batch, repeat: where the attempt stands; without a repeat the next free number.
        again: how often this repeat has been made; more than 1 after a fault of the harness.
        budget_hours, wall_clock_seconds, turns, tokens, usd, cell_seconds: limits other than the card's.
        network: ``none``, ``allowlist`` (the card's hosts and ``allow``, by a proxy) or ``open``.
        allow: hosts that may be reached under ``allowlist`` beside the card's.
        memory_mib, cpus, image, abandon_seconds: see :class:`KernelConfig`.
        gpus: ids separated by commas, or ``count=N``; a card whose device is gpu gets one without it.
        device_factor: H100-equivalents of one second of the device, where the table is not to be used.
        conditions: named, recorded changes of what agents are told.
        workspace: what becomes of the working folder in the end: ``keep`` it, ``archive`` it as one file, ``drop`` it.
        workspace_mib: most that the working folder may hold, MiB.
        seed: seed of the harness.
    """

    paper: str
    agent: str = "replay"
    model: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    kernel: KernelKind = "auto"
    runs: str = "runs"
    batch: str = "single"
    repeat: int | None = None
    again: int = 1
    budget_hours: str | float | None = None
    wall_clock_seconds: float | None = None
    turns: int | None = None
    tokens: int | None = None
    usd: str | float | None = None
    cell_seconds: float | None = None
    network: Policy = "none"
    allow: tuple[str, ...] = ()
    memory_mib: Annotated[int, Field(ge=64)] = 4096
    cpus: Annotated[float, Field(ge=0)] = 0.0
    image: str = ""
    gpus: str = ""
    device_factor: str | float | None = None
    abandon_seconds: Annotated[float, Field(gt=0)] = 600.0
    conditions: tuple[str, ...] = ()
    workspace: WorkspacePolicy = "keep"
    workspace_mib: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Prepared:
    """An attempt that is about to begin."""

    folder: AttemptFolder
    spec: AttemptSpec
    card: LoadedCard
    agent: Agent
    template: list[dict[str, Any]]


def prepare(request: Request, template: dict[str, Any] | None = None) -> Prepared:
    """Decide everything, make the agent, and last the attempt folder: what is refused leaves none behind.

    Args:
        request: what is asked for.
        template: notebook whose cells come first; without it the package's own.

    Raises:
        CardError: when the paper is not found or its card is broken.
        AttemptError: when something asked for does not exist.
        KernelError: when a container is asked for and there is no engine or image.
    """
    check_batch_name(request.batch)
    conditions = check_conditions(request.conditions)
    loaded = find_paper(request.paper)
    card = loaded.card
    view = agent_view(card)
    kernel = kernel_facts(request, card.device, card)
    limits = limits_of(request, card)
    agent_spec = AgentSpec(name=request.agent, model=request.model, options=request.options)
    agent = make_agent(agent_spec, loaded)
    release, intake = release_facts(loaded)
    suite = suite_name(loaded)
    label = agent_label(request.agent, request.model, request.conditions)
    folder = create_folder(Path(request.runs), request.batch, suite, card.id, label, request.repeat, request.again)
    spec = AttemptSpec(
        id=uuid.uuid4().hex[:12],
        batch=request.batch,
        suite=suite,
        paper=card.id,
        title=card.title,
        tier=card.tier,
        device=card.device,
        repeat=int(folder.path.name.partition("-")[0]),
        again=request.again,
        card_sha256=loaded.sha256,
        card=card_json(loaded),
        frozen={"version": loaded.frozen.version, "seal": loaded.frozen.seal} if loaded.frozen is not None else None,
        agent=agent_spec,
        kernel=kernel,
        limits=limits,
        release=release,
        conditions=conditions,
        prompt_sha256=render_prompts(view, limits, kernel, conditions).sha256,
        workspace=request.workspace,
        seed=request.seed,
        packages=package_versions(),
    )
    write_atomic(folder.intake, intake.to_json().encode())
    notebook = template or json.loads((data_folder("templates") / "attempt.ipynb").read_text("utf-8"))
    cells = _template_cells(notebook, as_markdown(view))
    for number, text in enumerate(without_effect(conditions, anchors=bool(card.anchors))):
        cell = {"cell": f"{NOTE_TAG}-{number}", "cell_type": "markdown", "source": f"**Note.** {text}."}
        cells.append({**cell, "metadata": {"tags": [NOTE_TAG]}})
    return Prepared(folder, spec, loaded, agent, cells)


def check_batch_name(name: str) -> None:
    """Refuse a name of a batch that is a path, or of which nothing is left as the name of its folder.

    Raises:
        AttemptError: saying what a name is made of.
    """
    path = "/" in name or "\\" in name
    if path or not any(sign.isascii() and (sign.isalnum() or sign == "_") for sign in name):
        raise AttemptError(f"a batch cannot be called {name!r}: its name is that of a folder, of letters and digits")


def limits_of(request: Request, card: PaperCard) -> Limits:
    """Return a card's limits with what is asked for instead.

    Raises:
        AttemptError: when a limit is impossible, naming it.
    """
    return limits_for(
        card,
        budget_hours=_decimal(request.budget_hours, "budget_hours"),
        wall_clock_seconds=request.wall_clock_seconds,
        turns=request.turns,
        tokens=request.tokens,
        usd=_decimal(request.usd, "usd"),
        cell_seconds=request.cell_seconds,
        workspace_mib=request.workspace_mib,
    )


def kernel_facts(request: Request, device: Device = "cpu", card: PaperCard | None = None) -> KernelFacts:
    """Decide where the cells run, on which device, and what they reach.

    Raises:
        AttemptError: when an allow list is asked for where nothing can be kept from the network.
        KernelError: when a container is asked for and cannot be had.
    """
    kind = request.kernel
    digest, image = "", request.image
    if kind != "local":
        from reclaim_nb.kernels.images import engine_problem, image_info, require_image

        if kind == "auto":
            available = engine_problem() is None and image_info(request.image or None) is not None
            kind = "docker" if available else "local"
        if kind == "docker":
            info = require_image(request.image or None)
            if not request.image and card is not None:
                from reclaim_nb.kernels.paper_images import find_paper_image

                if (own := find_paper_image(card.environment, info)) is not None:
                    info, image = own, own.tag
            digest = info.id
    allow, block, proxy = _network(request, kind, card)
    gpus, gpu_name, factor = _gpus(request, device)
    config = KernelConfig(
        kind=kind,
        image=image,
        network=request.network,
        allow=allow,
        block=block,
        memory_mib=request.memory_mib,
        cpus=request.cpus,
        gpus=gpus,
        abandon_seconds=request.abandon_seconds,
    )
    facts = {"image_digest": digest, "proxy_digest": proxy, "gpu_name": gpu_name, "device_factor": str(factor)}
    return KernelFacts(**config.to_json(), **facts)


def _network(request: Request, kind: str, card: PaperCard | None) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the hosts that may be reached, what is blocked, and the digest of the proxy's image."""
    block = card.blocked if card is not None else ()
    if request.network != "allowlist":
        if request.allow:
            raise AttemptError(f"hosts are allowed one by one under network=allowlist, and this is {request.network}")
        return (), block, ""
    if kind != "docker":
        raise AttemptError("network=allowlist needs a container (kernel=docker): a plain process reaches everything")
    allow = tuple(dict.fromkeys((*(card.network.allow if card is not None else ()), *request.allow)))
    rules = Rules.of(allow, block)
    for entry in rules.allow:
        for port in entry.ports:
            if (refusal := rules.refusal(entry.name.lstrip("."), port)) is not None:
                raise AttemptError(f"{entry.name} cannot be allowed: {refusal}")
    from reclaim_nb.kernels.network_image import require_proxy_image

    return allow, block, require_proxy_image().id


def _gpus(request: Request, device: Device) -> tuple[tuple[str, ...], str, Decimal]:
    """Return the ids of the GPUs to hold, what they call themselves, and H100-equivalents of one second of one."""
    asked = tuple(filter(None, request.gpus.split(","))) or (("count=1",) if device == "gpu" else ())
    if not asked:
        return (), "", Decimal(1)
    from reclaim_nb.kernels.gpu import choose_gpus

    chosen = choose_gpus(asked)
    name = chosen[0].name
    factor = _decimal(request.device_factor, "device_factor") or factor_of(name)
    if factor is None:
        raise AttemptError(
            f"{name!r} is not in the table of H100-equivalents; say what an hour of it counts with --device-factor"
        )
    return tuple(gpu.uuid for gpu in chosen), name, factor


def card_json(loaded: LoadedCard) -> dict[str, Any]:
    """Return the whole card as the JSON that stands in a spec."""
    card: dict[str, Any] = json.loads(loaded.card.model_dump_json(by_alias=True))
    return card


def agent_label(agent: str, model: str | None = None, conditions: Iterable[str] = ()) -> str:
    """Return the name that tells an agent from others in folders and tables: agent, model, conditions."""
    return "+".join([f"{agent}-{model}" if model else agent, *sorted(conditions)])


def suite_name(loaded: LoadedCard) -> str:
    """Return the name of the suite a card lies in."""
    folder = loaded.path.parent
    return (folder.parent if loaded.path.name == "paper.yaml" else folder).name


def release_folder(loaded: LoadedCard) -> Path | None:
    """Return the folder with what the authors released: beside the card, else as fetched; None when it is not here."""
    if loaded.release_folder is not None:
        return loaded.release_folder
    fetched = _fetched(loaded)
    return fetched.release if fetched is not None else None


def release_facts(loaded: LoadedCard) -> tuple[dict[str, Any], Intake]:
    """Return what stands in a spec about the release, and the manifest of what was shipped.

    Raises:
        FetchError: when what was fetched is not what it was.
    """
    if loaded.release_folder is not None:
        return {"from": "card"}, take_in(loaded.release_folder)
    fetched = _fetched(loaded)
    if fetched is None:
        return {"from": "nowhere"}, Intake()
    fetched.check()
    facts = fetched.facts
    return {
        "from": "cache",
        "key": facts.key,
        "tree_sha256": facts.tree_sha256,
        "fetched": facts.time,
        "commits": {one.folder: one.commit for one in facts.repositories},
        "missing": [one.model_dump() for one in facts.missing],
    }, fetched.intake()


def paper_text(loaded: LoadedCard) -> PaperText | None:
    """Return the text of the paper: beside the card, else as fetched; None when it is not here."""
    path = loaded.path.parent / "paper.md"
    if not path.exists():
        fetched = _fetched(loaded)
        if fetched is None or fetched.paper_text is None:
            return None
        path = fetched.paper_text
    return PaperText.load(path)


def _fetched(loaded: LoadedCard) -> FetchedRelease | None:
    from reclaim_nb.papers.fetch import find_fetched  # brings an HTTP library, which small papers can do without

    return find_fetched(loaded)


def _template_cells(notebook: dict[str, Any], card: str) -> list[dict[str, Any]]:
    cells = []
    for index, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] not in ("code", "markdown"):
            continue
        source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        tags = list(cell.get("metadata", {}).get("tags", []))
        cells.append(
            {
                "cell": str(cell.get("id") or f"template-{index}"),
                "cell_type": cell["cell_type"],
                "source": card if CARD_TAG in tags else source,
                "metadata": {"tags": tags} if tags else {},
            }
        )
    return cells


def _decimal(value: str | float | None, name: str) -> Decimal | None:
    if value is None:
        return None
    try:
        return Decimal(str(value))
    except ArithmeticError:
        raise AttemptError(f"{name}: {value!r} is not a number") from None
