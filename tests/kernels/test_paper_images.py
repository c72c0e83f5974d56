"""The images of papers: what of a card goes into one, and that it is built once and used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reclaim_nb.attempts.prepare import Request, kernel_facts
from reclaim_nb.kernels import images
from reclaim_nb.kernels.images import ImageInfo
from reclaim_nb.kernels.paper_images import build_paper_image, find_paper_image, requirements_of
from reclaim_nb.papers.card import Environment
from reclaim_nb.papers.suite import find_paper

# Nothing that a card of ours asks for, so that no attempt of another test takes this image for its own.
OWN = Environment(packages=("numpy>=1.0", "scipy>=0.1", "and a bundled fork of torch"))


@pytest.fixture(scope="module")
def built(kernel_image: ImageInfo) -> Iterator[ImageInfo]:
    lines: list[str] = []
    made = build_paper_image(OWN, kernel_image, "none", lines.append)
    assert made.problem is None
    assert made.info is not None
    assert made.built
    assert any("numpy" in line for line in lines), "the build is told of"
    yield made.info
    with closing(images.engine()) as client:
        client.images.remove(made.info.id, force=True)


class TestRequirements:
    def test_only_what_pip_takes(self) -> None:
        given = ("torch==2.1.2", "scikit-learn<1.7", "lm_eval", "jax[cuda12] >= 0.4, < 0.6")
        wanted, left_out = requirements_of(Environment(packages=(*given, "torch nightly", "-r /etc/passwd")))
        assert set(wanted) == set(given)
        assert left_out == ("torch nightly", "-r /etc/passwd")

    @pytest.mark.parametrize(
        "text", ["--index-url http://x.example", "x @ file:///etc", "a\nb", "git+https://x", "./here", "a; b", ""]
    )
    def test_nothing_else_gets_into_the_file(self, text: str) -> None:
        assert requirements_of(Environment(packages=(text,)))[0] == ()

    def test_every_card_of_the_small_suite_is_understood(self) -> None:
        for slug in ("iforest-breastw", "ngboost-boston-nll"):
            wanted, left_out = requirements_of(find_paper(f"small/{slug}").card.environment)
            assert wanted
            assert not left_out


class TestImage:
    def test_is_built_once(self, built: ImageInfo, kernel_image: ImageInfo) -> None:
        lines: list[str] = []
        again = build_paper_image(OWN, kernel_image, "none", lines.append)
        assert (again.info, again.built, lines) == (built, False, [])
        assert again.left_out == ("and a bundled fork of torch",)
        assert find_paper_image(OWN, kernel_image) == built
        assert (built.base, built.stale) == (kernel_image.tag, False)

    def test_other_packages_are_another_image(self, built: ImageInfo, kernel_image: ImageInfo) -> None:
        assert find_paper_image(Environment(packages=("numpy>=1.1",)), kernel_image) is None

    def test_nothing_to_add_is_no_image(self, kernel_image: ImageInfo) -> None:
        made = build_paper_image(Environment(packages=("prose alone",)), kernel_image)
        assert (made.info, made.left_out, made.problem) == (None, ("prose alone",), None)

    def test_a_failed_build_is_told_of(self, kernel_image: ImageInfo) -> None:
        made = build_paper_image(Environment(packages=("ipykernel==0.0.1",)), kernel_image, "none")
        assert made.info is None
        assert "failed" in (made.problem or "")

    def test_an_attempt_takes_it_and_says_so(self, built: ImageInfo, kernel_image: ImageInfo, tmp_path: Path) -> None:
        card = find_paper("small/iforest-breastw").card.model_copy(update={"environment": OWN})
        request = Request(paper="small/iforest-breastw", kernel="docker", runs=str(tmp_path))
        facts = kernel_facts(request, "cpu", card)
        assert (facts.image, facts.image_digest) == (built.tag, built.id)
        other = card.model_copy(update={"environment": Environment()})
        assert kernel_facts(request, "cpu", other).image_digest == kernel_image.id

    def test_an_image_asked_for_by_name_goes_first(self, built: ImageInfo, kernel_image: ImageInfo) -> None:
        card = find_paper("small/iforest-breastw").card.model_copy(update={"environment": OWN})
        request = Request(paper="small/iforest-breastw", kernel="docker", image=kernel_image.tag)
        assert kernel_facts(request, "cpu", card).image_digest == kernel_image.id

    def test_a_kernel_starts_in_it(self, built: ImageInfo) -> None:
        with closing(images.engine()) as client:
            out = client.containers.run(
                built.id,
                ["python", "-c", "import os, ipykernel, scipy; print(os.getuid())"],
                network_mode="none",
                remove=True,
            )
        assert out.decode().strip() == "1000"
