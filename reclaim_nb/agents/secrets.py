"""Keeping keys out of records: what the host's environment calls a secret is struck out of every text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

STRUCK = "[redacted]"

_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)
_SHORTEST = 8
"""A shorter value would strike out ordinary words."""

_URL_LOGIN = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")


class Redactor:
    """Strikes out secrets.

    Args:
        secrets: values to strike out; shorter ones than eight characters and plain numbers are left alone.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        kept = {text for text in secrets if len(text) >= _SHORTEST and not text.isdigit()}
        self._secrets = sorted(kept, key=len, reverse=True)

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] | None = None, more: Iterable[str] = ()) -> Redactor:
        """Return a redactor for every variable whose name speaks of a key, token, secret or password.

        Args:
            environment: variables; default: this process's.
            more: further secrets.
        """
        variables = os.environ if environment is None else environment
        return cls([*(value for name, value in variables.items() if _NAME.search(name)), *more])

    def text(self, text: str) -> str:
        """Return text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, STRUCK)
        return _URL_LOGIN.sub(STRUCK, text)

    def json(self, value: Any) -> Any:
        """Return a JSON value with every text in it, keys too, without secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.json(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(item) for item in value]
        return value
