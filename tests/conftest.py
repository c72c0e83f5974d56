"""Which tests run where.

Those that need a container engine skip without one, or fail under RECLAIM_REQUIRE_DOCKER=1. Those that need a local
model server, or a browser, run only where the expression of ``-m`` speaks of them, as in `make test-model` and `make
test-ui`.
"""

from __future__ import annotations

import functools
import os

import pytest
from hypothesis import HealthCheck, settings
from model_server import model_server  # noqa: F401 - a fixture for all folders

from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.images import ImageInfo, build_image, engine_problem

# How long an example takes says how busy the machine is, and nothing about what is tested.
settings.register_profile("any-speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-speed")

_engine_problem = functools.cache(engine_problem)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test that uses the kernel image, so that it can be left out; leave out what was not asked for."""
    for item in items:
        if "kernel_image" in getattr(item, "fixturenames", ()):
            item.add_marker("docker")
    unasked = [mark for mark in ("model", "ui") if mark not in config.option.markexpr]
    left_out = [item for item in items if any(item.get_closest_marker(mark) for mark in unasked)]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail a test marked ``docker`` before its fixtures run, when no engine answers."""
    if item.get_closest_marker("docker") and (problem := _engine_problem()):
        _cannot_run(problem)


@pytest.fixture(scope="session")
def kernel_image() -> ImageInfo:
    """The kernel image of this checkout, built if the engine does not have it."""
    try:
        return build_image()
    except KernelError as error:
        _cannot_run(str(error))


def _cannot_run(reason: str) -> None:
    if os.environ.get("RECLAIM_REQUIRE_DOCKER") == "1":
        pytest.fail(f"RECLAIM_REQUIRE_DOCKER=1, but: {reason}", pytrace=False)
    pytest.skip(reason)
