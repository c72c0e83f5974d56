"""The form in which a person decides about drafted cards, for ``templates/review.ipynb``. Needs ipywidgets."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from typing import Any

from reclaim_nb.rebuild import review
from reclaim_nb.rebuild.folder import Folder, RebuildError

_WIDE = {"width": "46em"}
_NAMES = {"description_width": "8em"}


class _Form:
    """What both forms share: a place for what was said, and one way to say what is wrong."""

    def __init__(self, place: Folder) -> None:
        import ipywidgets

        self._place, self._w = place, ipywidgets
        self._said = ipywidgets.HTML()
        self._agreement = ipywidgets.HTML()

    def _text(self, name: str, hint: str, value: str = "") -> Any:
        return self._w.Text(description=name, placeholder=hint, value=value, layout=_WIDE, style=_NAMES)

    def _try(self, work: Callable[[], str]) -> bool:
        try:
            told, colour = work(), "inherit"
            done = True
        except RebuildError as problem:
            told, colour, done = str(problem), "var(--jp-error-color1, #b00020)", False
        self._said.value = f'<span style="color:{colour}">{html.escape(told)}</span>'
        self._agreement.value = f"<b>Agreement.</b> {html.escape(review.agreement(self._place).as_text())}"
        return done


class ReviewForm(_Form):
    """One drafted card at a time with its quotes, and what a rater decides about it.

    Args:
        place: the rebuild.
        rater: short name of the person.
        signature: the person's full name, where it is known already.
    """

    def __init__(self, place: Folder, rater: str, signature: str = "") -> None:
        super().__init__(place)
        self.rater = rater
        self.card = self._w.Output(layout={"border": "1px solid var(--jp-border-color2, #ddd)", "padding": "0 1em"})
        self.left = self._w.HTML()
        self.name = self._text("Full name", "signs the decision", signature)
        self.reason = self._text("Reason", "needed to edit or refuse")
        self.field = self._w.Combobox(
            description="Field", placeholder="only to edit, such as target.split", layout=_WIDE, style=_NAMES
        )
        self.value = self._text("New value", "only to edit")
        self.source = self._text("Its place", "only to edit: where the new value stands in the paper")
        self.buttons = {}
        for decision, style in (("accept", "success"), ("edit", "info"), ("refuse", "danger")):
            button = self._w.Button(description=decision.capitalize(), button_style=style)
            button.on_click(lambda _, decision=decision: self.decide(decision))
            self.buttons[decision] = button
        self.show()

    @property
    def current(self) -> str | None:
        """Id of the paper whose card is shown, None where nothing is left."""
        return next(iter(review.waiting(self._place, self.rater)), None)

    def show(self) -> None:
        """Show the next card that waits."""
        from IPython.display import Markdown

        waiting = review.waiting(self._place, self.rater)
        whole = len(review.chosen(self._place))
        self.left.value = f"{len(waiting)} of {whole} cards wait for <b>{html.escape(self.rater)}</b>."
        text = review.as_markdown(self._place, waiting[0]) if waiting else "**Nothing is left.**"
        self.card.outputs = ()
        self.card.append_display_data(Markdown(text))
        made = self._place.made(waiting[0], "draft") if waiting else None
        self.field.options = tuple(_fields(made.result.get("card", {}))) if made is not None else ()
        for button in self.buttons.values():
            button.disabled = not waiting
        for box in (self.reason, self.field, self.value, self.source):
            box.value = ""

    def decide(self, decision: review.Decision) -> None:
        """Write down what was decided about the card that is shown, and go on to the next."""
        paper = self.current
        if paper is None:
            return

        def work() -> str:
            if decision == "edit" and not (self.field.value and self.source.value):
                raise RebuildError("to edit a card, name the field, its new value, and where that stands in the paper")
            edits = {self.field.value: {"value": self.value.value, "source": self.source.value}}
            review.record(
                self._place,
                paper,
                self.rater,
                decision,
                signature=self.name.value.strip(),
                reason=self.reason.value,
                edits=edits if decision == "edit" else None,
            )
            return f"{paper}: {decision}."

        if self._try(work):
            self.show()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        boxes = (self.name, self.reason, self.field, self.value, self.source)
        buttons = self._w.HBox(list(self.buttons.values()))
        display(self._w.VBox([self.left, self.card, *boxes, buttons, self._said, self._agreement]))


class AdjudicationForm(_Form):
    """The cards that two raters decided differently, and whose decision a third person lets count.

    Args:
        place: the rebuild.
        by: short name of that person.
        signature: the person's full name, where it is known already.
    """

    def __init__(self, place: Folder, by: str, signature: str = "") -> None:
        super().__init__(place)
        self.by = by
        self.paper = self._w.Dropdown(description="Card", layout=_WIDE, style=_NAMES)
        self.why = self._w.HTML()
        self.pick = self._w.Dropdown(description="Counts", layout=_WIDE, style=_NAMES)
        self.name = self._text("Full name", "signs the decision", signature)
        self.reason = self._text("Reason", "needed")
        self.button = self._w.Button(description="Let it count", button_style="primary")
        self.button.on_click(lambda _: self.decide())
        self.paper.observe(lambda _: self._look(), "value")
        self.show()

    def show(self) -> None:
        """Show the cards that are open now."""
        states = {paper: review.final(self._place, paper) for paper in review.chosen(self._place)}
        _offer(self.paper, [(paper, paper) for paper, one in states.items() if one.state == "disagreement"])
        self.button.disabled = self.paper.value is None
        self.reason.value = ""
        self._look()

    def _look(self) -> None:
        paper = self.paper.value
        said = review.reviews(self._place, paper) if paper is not None else []
        _offer(self.pick, [(f"{one.rater}: {one.decision}", one.rater) for one in said])
        rows = "".join(f"<li>{html.escape(one.told())}</li>" for one in said)
        self.why.value = f"<ul>{rows}</ul>" if paper is not None else "No card was decided differently."

    def decide(self) -> None:
        """Write down whose decision counts."""
        paper = self.paper.value

        def work() -> str:
            names = {"signature": self.name.value.strip(), "reason": self.reason.value}
            review.adjudicate(self._place, paper, self.by, self.pick.value, **names)
            return f"{paper}: {self.pick.value}'s decision counts."

        if paper is not None and self._try(work):
            self.show()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        boxes = (self.paper, self.why, self.pick, self.name, self.reason, self.button)
        display(self._w.VBox([*boxes, self._said, self._agreement]))


def _offer(box: Any, options: list[tuple[str, str]]) -> None:
    box.options = options  # which chooses none of them where there were none before
    box.value = options[0][1] if options else None


def _fields(card: dict[str, Any], above: str = "") -> Iterator[str]:
    """Yield the names of a card's fields that may be edited."""
    for name, value in card.items():
        path = f"{above}{name}"
        if isinstance(value, dict):
            yield from _fields(value, f"{path}.")
        elif not isinstance(value, list) and path not in review.FIXED:
            yield path
