# mypy: ignore-errors
from toy import load as loader

__all__ = ["loader"]
