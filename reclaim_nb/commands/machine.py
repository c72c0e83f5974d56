"""``reclaim image build``, ``reclaim clean`` and ``reclaim doctor``: what attempts stand on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reclaim_nb.commands import exits, screen
from reclaim_nb.commands.attempt import AsJson
from reclaim_nb.errors import KernelError

if TYPE_CHECKING:
    from reclaim_nb.kernels.paper_images import PaperImage

image = typer.Typer(help="The image that container kernels run in.", no_args_is_help=True, rich_markup_mode=None)


@image.callback()
def _group() -> None:
    """The image that container kernels run in."""


@image.command("build")
def build(
    base: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="Image to build on: Debian or Ubuntu, also with CUDA.")
    ] = None,
    network: Annotated[str | None, typer.Option(help="Network of the build steps, such as host.")] = None,
    tag: Annotated[str | None, typer.Option(help="Name of the image; default: this version's.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Build even if it is up to date, without cache.")] = False,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="The image of the proxy that the network policy allowlist needs.")
    ] = False,
    suite: Annotated[
        str | None,
        typer.Option(metavar="SUITE", help="The images of a suite's papers (or of one paper), on the kernel image."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Build the kernel image, unless the engine has it from the same files already.

    With --suite also the images of its papers: the packages of each card's environment as one more layer. Papers with
    the same environment share an image, and one that is there is not built again. Attempts take a paper's own image
    where it is there.
    """
    from dataclasses import asdict

    if suite is not None:
        _build_suite(suite, base, network, force, as_json)
        return

    from reclaim_nb.kernels.images import build_image
    from reclaim_nb.kernels.network_image import build_proxy_image

    side = screen.side()
    build_one = build_proxy_image if proxy else build_image
    built = build_one(
        tag, base, network, lambda line: side.print(screen.one_line(line), style="dim", soft_wrap=True), force=force
    )
    if as_json:
        screen.print_json(asdict(built))
    else:
        size = f"{built.size_bytes / 1e6:.0f} MB"
        screen.screen().print(f"{built.tag} is up to date: {built.id[:19]}, {size}", soft_wrap=True)


def _build_suite(suite: str, base: str | None, network: str | None, force: bool, as_json: bool) -> None:
    from dataclasses import asdict

    from reclaim_nb.kernels.images import build_image
    from reclaim_nb.kernels.paper_images import build_paper_image
    from reclaim_nb.papers.card import Environment
    from reclaim_nb.papers.suite import find_paper, find_suite

    cards = [find_paper(suite)] if "/" in suite and not Path(suite).is_dir() else list(find_suite(suite))
    side, console = screen.side(), screen.screen()

    def follow(line: str) -> None:
        side.print(screen.one_line(line), style="dim", soft_wrap=True)

    kernel = build_image(None, base, network, follow)
    done: dict[Environment, PaperImage] = {}
    rows, failed = [], 0
    for number, loaded in enumerate(cards, start=1):
        environment = Environment(packages=loaded.card.environment.packages)
        known = environment in done
        made = done.get(environment) or build_paper_image(environment, kernel, network, follow, force=force)
        done[environment] = made
        failed += made.problem is not None
        if made.problem is not None:
            text = f"failed: {made.problem}"
        elif made.info is None:
            text = f"needs nothing beyond {kernel.tag}"
        else:
            how = "built" if made.built and not known else "is there"
            text = f"{made.info.tag} {how}: {made.info.id[:19]}, {made.info.size_bytes / 1e6:.0f} MB"
        left_out = f" (no requirements: {', '.join(made.left_out)})" if made.left_out else ""
        rows.append({"paper": loaded.name, "image": asdict(made.info) if made.info else None, **_told(made)})
        if not as_json:
            console.print(f"[{number}/{len(cards)}] {loaded.name}: {text}{left_out}", soft_wrap=True, markup=False)
    images = len({made.info.id for made in done.values() if made.info is not None})
    if as_json:
        screen.print_json({"kernel": asdict(kernel), "papers": rows, "images": images, "failed": failed})
    else:
        console.print(f"{len(cards)} papers, {images} images beside {kernel.tag}, {failed} failed", soft_wrap=True)
    if failed:
        raise typer.Exit(exits.INFRASTRUCTURE)


def _told(made: PaperImage) -> dict[str, object]:
    return {"built": made.built, "left_out": list(made.left_out), "problem": made.problem}


def clean(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove kernels and containers whose runner is provably dead, and nothing else.

    Attempts stay; but one that could still be resumed can no more once its kernel is removed.
    """
    from reclaim_nb.kernels.leftovers import find_leftovers

    found, failed = [], 0
    console = screen.screen()
    for leftover in find_leftovers():
        problem = None
        if not dry_run:
            try:
                leftover.remove()
            except KernelError as refusal:
                problem, failed = str(refusal), failed + 1
        words = "could not remove" if problem else "would remove" if dry_run else "removed"
        found.append(
            {
                "kind": leftover.kind,
                "name": leftover.name,
                "attempt": leftover.attempt or None,
                "removed": not dry_run and problem is None,
                "problem": problem,
            }
        )
        if not as_json:
            of = f" of attempt {leftover.attempt}" if leftover.attempt else ""
            console.print(f"{words} {leftover.kind} {leftover.name}{of}{f': {problem}' if problem else ''}")
    if as_json:
        screen.print_json({"dry_run": dry_run, "leftovers": found})
    elif not found:
        console.print("nothing to remove")
    if failed:
        raise typer.Exit(exits.INFRASTRUCTURE)


def doctor(as_json: AsJson = False) -> None:
    """Say what is here, what is missing and how to get it. Exit code 0: an attempt can run at all."""
    from dataclasses import asdict

    from reclaim_nb.commands.doctor import can_run, examine

    found = examine()
    if as_json:
        screen.print_json({"can_run": can_run(found), "checks": [asdict(one) for one in found]})
    else:
        console = screen.screen()
        width = max(len(one.name) for one in found)
        for one in found:
            mark = "ok     " if one.ok else "MISSING" if one.needed else "missing"
            console.print(f"{mark} {one.name:<{width}}  {one.text}", soft_wrap=True)
            if not one.ok:
                console.print(f"        {'':<{width}}  -> {one.remedy}", soft_wrap=True)
        console.print("an attempt can run" if can_run(found) else "no attempt can run: see MISSING above")
    if not can_run(found):
        raise typer.Exit(exits.ERROR)
