"""What a verdict says about the model that was asked: who it was, how its votes fell, what it took."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tally(_Part):
    """How the valid votes fell on one question.

    Attributes:
        question: its name.
        votes: how many gave each answer.
        majority: the answer of more than half of all votes that were asked for, None where there is none.
    """

    question: str
    votes: dict[str, int]
    majority: str | None = None


class Asked(_Part):
    """The model behind a verdict.

    Attributes:
        model: ``provider:model``, as it was asked for.
        answered_as: what the service called the model that answered.
        votes: votes that were asked for, an odd number.
        valid: of these, votes that were answered and whose citations were all found.
        void: votes thrown away because of a citation, each with the reason.
        unanswered: votes without a usable answer, each with the reason.
        tallies: answers by question.
        seed: what the words in the marks around evidence were drawn from.
        prompts: hash of each file of prompts.
        usage: requests, tokens and US dollars; dollars None where the price is not known.
        notes: what else has to be known, such as that the agent's model is not.
    """

    model: str
    answered_as: tuple[str, ...] = ()
    votes: int
    valid: int
    void: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    tallies: tuple[Tally, ...] = ()
    seed: str
    prompts: dict[str, str]
    usage: dict[str, int | str | None] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
