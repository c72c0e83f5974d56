"""Fixtures for tests of attempts: both kinds of kernel through the same tests."""

from __future__ import annotations

import pytest

KINDS = ["local", pytest.param("docker", marks=pytest.mark.docker)]


@pytest.fixture(scope="session", params=KINDS)
def kernel(request: pytest.FixtureRequest) -> str:
    """Each kind of kernel in turn."""
    if request.param == "docker":
        request.getfixturevalue("kernel_image")
    return str(request.param)


@pytest.fixture(scope="session")
def docker(kernel_image: object) -> str:
    """The container kernel alone."""
    return "docker"
