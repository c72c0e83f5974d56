"""A model service: one request at a time through pydantic-ai, with its price, and what to do when it fails."""

from __future__ import annotations

import functools
import os
import random
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from reclaim_nb.agents.prices import price
from reclaim_nb.agents.tools import TOOLS
from reclaim_nb.attempts.model_usage import ModelUsage
from reclaim_nb.errors import AttemptError, WrongOption
from reclaim_nb.extras import advice

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.settings import ModelSettings

LONGEST_WAIT = 300.0
"""Most seconds to wait before a request is made again, also where the service asks for more."""

Remedy = Literal["again", "shorten", "stop", "give_up"]


class ServiceOptions(BaseModel):
    """Options of the agent ``model``. Keys are no options: they come from the environment and are never recorded.

    Attributes:
        base_url: address of a service that speaks OpenAI's wire format (vLLM, llama.cpp, Ollama, a gateway), or that of
            the named provider.
        key_env: variable of the environment that holds the key for ``base_url``; without it no key is sent there.
        settings: pydantic-ai's model settings, such as ``temperature`` or ``max_tokens``.
        context_tokens: size of the model's context window, where it is not known.
        price_as: ``provider:model`` whose price counts for a ``base_url``.
        retries: how often a request is made again after a fault of the service.
        retry_seconds: wait before the first of these; it doubles each time.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: str | None = None
    key_env: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    context_tokens: int | None = Field(default=None, gt=0)
    price_as: str | None = None
    retries: int = Field(default=8, ge=0)
    retry_seconds: float = Field(default=1.0, gt=0)

    @field_validator("base_url")
    @classmethod
    def _no_login(cls, url: str | None) -> str | None:
        if url is not None and (urlsplit(url).username or urlsplit(url).query):
            raise ValueError("it is recorded, so it may hold no login and no key; name a variable with key_env")
        return url


@dataclass(frozen=True, slots=True)
class Spoken:
    """An answer of the service and what it took."""

    response: ModelResponse
    usage: ModelUsage


@dataclass
class Service:
    """A model of a provider.

    Attributes:
        name: ``provider:model``.
        options: see :class:`ServiceOptions`.
        model: pydantic-ai's model.
    """

    name: str
    options: ServiceOptions
    model: Model
    _settings: ModelSettings = field(init=False)

    def __post_init__(self) -> None:
        # The client's own retries would be neither recorded nor kept off the attempt's clock.
        given = {"timeout": 600.0, **self.options.settings, "max_retries": 0}
        self._settings = given  # type: ignore[assignment]

    @property
    def context_tokens(self) -> int | None:
        """Size of the context window, None when unknown."""
        return self.options.context_tokens or self.model.context_window

    @property
    def has_price(self) -> bool:
        """The price of a request can be known."""
        return price(self._price_reference, ModelUsage(input_tokens=1, output_tokens=1)) is not None

    async def ask(self, messages: list[ModelMessage], tools: list[Any] | None = None) -> Spoken:
        """Send the conversation once and return the answer.

        Args:
            messages: the conversation.
            tools: pydantic-ai's definitions of the tools on offer; the session's, if not given.

        Raises:
            Exception: whatever the provider's client raises; see :func:`remedy`.
        """
        from pydantic_ai.direct import model_request
        from pydantic_ai.models import ModelRequestParameters

        response = await model_request(
            self.model,
            messages,
            model_settings=self._settings,
            model_request_parameters=ModelRequestParameters(
                function_tools=tool_definitions() if tools is None else tools
            ),
        )
        return Spoken(response, self._usage(response))

    @property
    def _price_reference(self) -> str | None:
        return self.options.price_as or (None if self.options.base_url else self.name)

    def _usage(self, response: ModelResponse) -> ModelUsage:
        used = response.usage
        reasoning = used.output_reasoning_tokens or used.details.get("reasoning_tokens", 0) or 0
        counted = ModelUsage(
            requests=1,
            input_tokens=used.input_tokens,
            cached_tokens=used.cache_read_tokens,
            cache_write_tokens=used.cache_write_tokens,
            output_tokens=used.output_tokens,
            reasoning_tokens=reasoning,
        )
        usd = price(self._price_reference, counted) if counted.tokens else None
        if used.cost is not None:  # a gateway says it itself
            usd = Decimal(str(used.cost))
        return counted + ModelUsage(usd=usd)


def make_service(model: str | None, options: dict[str, Any]) -> Service:
    """Return the service of a model.

    Args:
        model: ``provider:model``, as pydantic-ai names them.
        options: see :class:`ServiceOptions`.

    Raises:
        AttemptError: when the model is unknown, an option is wrong, or the key is missing.
    """
    if not model or ":" not in model:
        given = f"--model {model}" if model else "no model"
        raise AttemptError(f"{given}: name one with --model provider:model, such as openai:gpt-5 or vllm:qwen3-8b")
    try:
        checked = ServiceOptions.model_validate(options)
    except ValidationError as problem:
        faults = "; ".join(f"{'.'.join(map(str, f['loc']))}: {f['msg']}" for f in problem.errors(include_input=False))
        raise WrongOption(
            f"options of the model: {faults}; there are {', '.join(ServiceOptions.model_fields)}"
        ) from None
    try:
        import pydantic_ai  # noqa: F401
    except ImportError as problem:
        raise AttemptError(advice(problem) or f"pydantic-ai cannot be imported: {problem}") from problem
    from pydantic_ai.exceptions import UserError

    try:
        return Service(model, checked, _pydantic_model(model, checked))
    except (UserError, ValueError, ImportError) as problem:
        raise AttemptError(f"--model {model}: {problem}") from problem


def remedy(problem: Exception) -> Remedy:
    """Return what to do about a failed request.

    ``again``: a fault of the service or the way to it; ``shorten``: the conversation is too long; ``stop``: the model
    refuses to answer; ``give_up``: the harness is set up wrongly, or it cannot be told.
    """
    from pydantic_ai import exceptions as known

    if isinstance(problem, known.ModelContextWindowExceededError):
        return "shorten"
    if isinstance(problem, known.ContentFilterError):
        return "stop"
    if isinstance(problem, known.ModelRequestRejectedError | known.ModelQuotaExceededError):
        return "give_up"
    if isinstance(problem, known.ModelHTTPError):
        return "again" if problem.status_code in (408, 409, 425, 429) or problem.status_code >= 500 else "give_up"
    passing = known.ModelAPIError | known.UnexpectedModelBehavior | ConnectionError | TimeoutError
    return "again" if isinstance(problem, passing) else "give_up"


def wait_seconds(problem: Exception, failures: int, options: ServiceOptions, chance: random.Random) -> float:
    """Return how long to wait before a request is made again: what the service asks for, or longer each time.

    Args:
        problem: what the client raised.
        failures: how often it has failed, with this time.
        options: of the service.
        chance: spreads the waits of many.
    """
    asked = getattr(problem, "retry_after", None)
    if asked is not None:
        return float(min(max(asked, 0.0), LONGEST_WAIT))
    backoff = options.retry_seconds * 2.0 ** (failures - 1) * chance.uniform(0.75, 1.25)
    return float(min(backoff, LONGEST_WAIT))


def tool_definitions() -> list[Any]:
    """Return the session's tools as pydantic-ai offers them to a model."""
    from pydantic_ai.tools import ToolDefinition

    return [
        ToolDefinition(  # strict mode would rewrite the schema
            name=tool.name, parameters_json_schema=tool.schema, description=tool.description, strict=False
        )
        for tool in TOOLS
    ]


def _pydantic_model(name: str, options: ServiceOptions) -> Model:
    from pydantic_ai.models import infer_model

    if options.base_url is None:
        return infer_model(name)
    provider, _, model = name.partition(":")
    key = os.environ.get(options.key_env) if options.key_env else None
    if options.key_env and not key:
        raise ValueError(f"the variable {options.key_env} is not set")
    if provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(model, provider=AnthropicProvider(base_url=options.base_url, api_key=key or "no-key"))
    if provider == "google":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(model, provider=GoogleProvider(base_url=options.base_url, api_key=key or "no-key"))
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    service = OpenAICompatibleProvider(provider, base_url=options.base_url, api_key=key)
    if provider == "openai-responses":
        return OpenAIResponsesModel(model, provider=service)
    chat: Model[Any] = _compatible_chat_model()(model, provider=service)
    return chat


@functools.cache
def _compatible_chat_model() -> type[OpenAIChatModel]:
    """Return the chat model for services that only resemble OpenAI's.

    Some of them (llama.cpp's Python server) refuse an answer without text whose content is null, as OpenAI writes it
    where there are only tool calls; the empty text means the same to all.
    """
    from pydantic_ai.models.openai import OpenAIChatModel

    class CompatibleChatModel(OpenAIChatModel):
        @dataclass
        class _MapModelResponseContext(OpenAIChatModel._MapModelResponseContext):
            def _into_message_param(self) -> Any:
                message = super()._into_message_param()
                if message is not None and message.get("content") is None:
                    message["content"] = ""
                return message

    return CompatibleChatModel
