"""Paper cards, suites, tiers, criteria, decimal numbers and units. Knows nothing of notebooks that run."""

from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.loading import LoadedCard, load_card
from reclaim_nb.papers.suite import Suite, find_paper, find_suite, load_suite, write_manifest
from reclaim_nb.papers.view import AgentView, agent_view, as_markdown

__all__ = [
    "AgentView",
    "LoadedCard",
    "PaperCard",
    "Suite",
    "agent_view",
    "as_markdown",
    "find_paper",
    "find_suite",
    "load_card",
    "load_suite",
    "write_manifest",
]
