"""Work of several attempts in a row hears that it is to stop, whenever that is said."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

import pytest

from reclaim_nb.attempts.stopping import StopAsked, run_to_end
from reclaim_nb.errors import Stopped


async def told_while_ending() -> str:
    """Be told to stop when that can change nothing any more, as a record that is being closed."""
    os.kill(os.getpid(), signal.SIGTERM)
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(60)
    return "ended as it was about to"


def test_a_stop_that_one_attempt_takes_no_notice_of_is_still_known_before_the_next() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with StopAsked() as stop:
        stop.check()
        assert run_to_end(told_while_ending()) == "ended as it was about to"
        with pytest.raises(Stopped, match="told to stop"):
            stop.check()
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_between_two_attempts_is_known_before_the_next(number: signal.Signals) -> None:
    with StopAsked() as stop:
        os.kill(os.getpid(), number)
        with pytest.raises(Stopped, match="told to stop"):
            stop.check()
    StopAsked().check()


def test_a_stop_while_the_next_attempt_is_made_ready_cancels_it_at_once() -> None:
    with StopAsked() as stop:
        stop.check()
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(asyncio.CancelledError):
            run_to_end(asyncio.sleep(60))
