"""``reclaim image build``, ``reclaim clean`` and ``reclaim doctor``: what attempts stand on."""

from __future__ import annotations

from typing import Annotated

import typer

from reclaim_nb.commands import exits, screen
from reclaim_nb.commands.attempt import AsJson
from reclaim_nb.errors import KernelError

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
    as_json: AsJson = False,
) -> None:
    """Build the kernel image, unless the engine has it from the same files already."""
    from dataclasses import asdict

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
