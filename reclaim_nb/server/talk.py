"""The conversation of an attempt and its network log, a window at a time, as the lab shows them beside the cells."""

from __future__ import annotations

import json
from typing import Any

from reclaim_nb.record.events import Event
from reclaim_nb.record.reader import first_event
from reclaim_nb.server.models import TalkQuery, WindowQuery
from reclaim_nb.server.places import NotFound
from reclaim_nb.server.story import Entry, Place, Story, part_of
from reclaim_nb.server.tail import plain

TEXT = 4000
"""Most characters of one text in a window."""

WHOLE = 256 * 1024
"""Most characters of a text that is asked for by itself."""


def conversation(story: Story, query: TalkQuery) -> dict[str, Any]:
    """Return a window of what was said and done, in order.

    Args:
        story: of the attempt.
        query: which window: from a number on, or around a cell.

    Raises:
        NotFound: when there is no such cell.
    """
    start = _around(story, query.cell, query.count) if query.cell is not None else query.start
    room = WHOLE if query.whole else TEXT
    window = story.entries[start : start + (1 if query.whole else query.count)]
    return {
        "total": len(story.entries),
        "start": start,
        "ended": story.ended,
        "entries": [{"index": start + index, **_entry(story, one, room)} for index, one in enumerate(window)],
    }


def _around(story: Story, cell: str, count: int) -> int:
    at = next((index for index, one in enumerate(story.entries) if one.kind == "cell" and one.cell == cell), None)
    if at is None:
        raise NotFound(f"the record holds no cell {cell!r}; the page may be out of date")
    return max(0, at - count // 2)


def _entry(story: Story, entry: Entry, room: int) -> dict[str, Any]:
    event = story.event(entry.line)
    cell = story.cells.get(entry.cell) if entry.cell is not None else None
    found: dict[str, Any] = {
        "time": event.time,
        "kind": entry.kind,
        "cell": entry.cell,
        "author": cell.author if cell is not None and entry.kind in ("cell", "markdown") else None,
        "turn": cell.turn if cell is not None else None,
        "facts": None,
        "name": None,
        "output": None,
        "result": None,
        "refused": False,
    }
    if entry.part is not None:
        part = part_of(event, entry.part)
        found |= {"name": part.get("part_kind"), "text": _text(part.get("content"), room)}
    elif entry.kind == "call":
        found |= _call(event, room)
    elif entry.kind == "event":
        name, text = _event(event)
        found |= {"name": name, "text": _text(text, room)}
    else:
        found["text"] = _text(event.data.get("source"), room)
        if entry.kind == "cell" and cell is not None:
            text, cut = story.output_end(cell)
            found |= {"facts": cell.to_json(), "output": {"text": text, "characters": len(text), "cut": cut}}
    return found


def _call(event: Event, room: int) -> dict[str, Any]:
    """Return a tool call: its arguments one a line, and what it gave back in words where there are any."""
    arguments, result = event.data.get("arguments"), event.data.get("result")
    shown = result if isinstance(result, dict) else {"text": result}
    refused = "error" in shown
    text = shown.get("error") if refused else shown.get("text", result)
    return {
        "name": str(event.data.get("name")),
        "text": _text(_lines(arguments), room),
        "result": _text(text, room),
        "refused": refused,
    }


def _lines(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return _words(arguments)
    given = {name: value for name, value in arguments.items() if value not in (None, "")}
    return "\n".join(f"{name}: {_words(value)}" for name, value in given.items())


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _event(event: Event) -> tuple[str, str]:
    data = event.data
    if event.kind == "end":
        return "end", " – ".join(filter(None, (str(data.get("reason")), data.get("detail"))))
    if event.kind == "limit":
        return "limit", f"{data.get('which')}: {data.get('detail')}"
    if event.kind == "runner":
        return "resumed", ""
    if event.kind == "model":
        what = str(data.get("what"))
        text = data.get("error") if what == "failure" else _words(data.get("shortened") or data.get("code"))
        return what, str(text)
    return str(data.get("what")), str(data.get("text"))


def _text(value: Any, room: int) -> dict[str, Any]:
    """Return a text cut to its beginning and end; colours and what no browser can show are taken out."""
    whole = plain(value if isinstance(value, str) else "" if value is None else _words(value))
    cut = len(whole) > room
    text = f"{whole[: room // 2]}\n[…]\n{whole[-room // 2 :]}" if cut else whole
    return {"text": text, "characters": len(whole), "cut": cut}


def network(story: Story, query: WindowQuery) -> dict[str, Any]:
    """Return a window of the network log, newest last, with what was allowed and who was asked for.

    Args:
        story: of the attempt.
        query: which window, of all requests or of those that were refused or allowed.
    """
    spec = first_event(story.folder.stream).data.get("spec")
    kernel = spec.get("kernel") if isinstance(spec, dict) else None
    facts: dict[str, Any] = kernel if isinstance(kernel, dict) else {}
    wanted = [place for place, allowed in story.requests if query.only in (None, "allowed" if allowed else "refused")]
    allowed = sum(allowed for _, allowed in story.requests)
    hosts = sorted(story.hosts.items(), key=lambda one: (-sum(one[1]), one[0]))
    return {
        "policy": str(facts.get("network", "")),
        "kernel": str(facts.get("kind", "")),
        "allow": [str(host) for host in facts.get("allow") or ()],
        "block": [str(host) for host in facts.get("block") or ()],
        "allowed": allowed,
        "refused": len(story.requests) - allowed,
        "hosts": [{"host": host, "allowed": yes, "refused": no} for host, (yes, no) in hosts[:50]],
        "notes": story.network_notes[:50],
        "total": len(wanted),
        "start": query.start,
        "entries": [_request(story, place) for place in wanted[query.start : query.start + query.count]],
    }


def _request(story: Story, place: Place) -> dict[str, Any]:
    event = story.event(place)
    data = event.data
    count = data.get("count")
    cell = story.cells.get(str(data.get("cell")))
    return {
        "time": data.get("started") or event.time,
        "cell": data.get("cell"),
        "turn": cell.turn if cell is not None else None,
        "via": str(data.get("via", "")),
        "method": data.get("method") if isinstance(data.get("method"), str) else None,
        "status": data.get("status") if isinstance(data.get("status"), int) else None,
        "bytes_in": data.get("bytes_in") if isinstance(data.get("bytes_in"), int) else None,
        "host": data.get("host") or None,
        "port": data.get("port") if isinstance(data.get("port"), int) else None,
        "path": plain(str(data["path"])[:TEXT]) if data.get("path") else None,
        "allowed": data.get("allowed") is True,
        "reason": plain(str(data.get("reason") or "")[:TEXT]),
        "count": count if isinstance(count, int) else 1,
    }
