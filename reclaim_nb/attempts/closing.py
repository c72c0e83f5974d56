"""The harness's last cell: why the attempt ended, what was handed in, what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reclaim_nb.attempts.reasons import ENDINGS, EndReason

if TYPE_CHECKING:
    from reclaim_nb.attempts.session import Session

CLOSING = "reclaim-end"
"""Id of the harness's last cell."""


def closing_note(session: Session, reason: EndReason, detail: str | None) -> str:
    """Return the Markdown that ends the notebook: why it ended, what was handed in, what it cost."""
    state, submission = session.budget_state(), session.submission
    lines = ["---", f"**The attempt ended: {ENDINGS[reason].text}** (`{reason}`{f': {detail}' if detail else ''})."]
    if submission is not None:
        note = " ".join(str(submission["note"]).split())
        lines.append(f"Handed in: **{submission['value']}**{f' – {note}' if note else ''}")
    lines.append(f"Spent: {state.text}.")
    lines.append("The verdict is not part of this notebook; it lies beside it and rests on the record, not on prose.")
    return "\n\n".join(lines)
