"""Agents that are commands of their own: they get the session's tools through MCP and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from reclaim_nb.agents.adapter import Adapter, UsageReader, fill_value, fill_words, load_adapter
from reclaim_nb.agents.process import Process, end_tree
from reclaim_nb.agents.secrets import Redactor
from reclaim_nb.attempts.prompts import fill
from reclaim_nb.attempts.session import Session
from reclaim_nb.attempts.tools import AttemptOver
from reclaim_nb.errors import AttemptError, WrongOption
from reclaim_nb.papers.loading import LoadedCard

TRANSCRIPT = "agent.transcript.jsonl"
"""File of the attempt folder with what the command wrote to its standard output, keys struck out."""

ERRORS = "agent.stderr.txt"

SCRATCH = "reclaim-cli-"

LINGER_SECONDS = 20.0
"""Time a command has to finish by itself once the attempt is over, so that it can tell its usage."""

PASSED_ON = (
    *("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)
"""Variables of the host that a command gets, beside its own keys."""


class CommandOptions(BaseModel):
    """Options of agents that are commands.

    Attributes:
        adapter: file that tells how to drive it; for the agent ``command``.
        program: executable to run in place of the adapter's.
        model: what ``--model`` sets; the command's own default without it.
        base_url: address of its service, where it takes one.
        home: an existing home folder, for a command that is logged in there; its settings then apply too. Without it
            the command gets an empty one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    adapter: str | None = None
    program: str | None = None
    model: str | None = None
    base_url: str | None = None
    home: str | None = None


class CommandAgent:
    """Lets an external command write the cells.

    Raises:
        AttemptError: when an option is wrong or the command is not installed.
    """

    def __init__(self, adapter: Adapter, options: CommandOptions) -> None:
        if importlib.util.find_spec("mcp") is None:
            raise AttemptError(f"the agent {adapter.name} needs `pip install 'reclaim-nb[agents]'`")
        self._adapter, self._options = adapter, options
        program = options.program or adapter.program
        found = shutil.which(program)
        if found is None:
            raise AttemptError(f"{program}: not installed; {adapter.install}, or name it with --option program=PATH")
        self._program = found

    async def write(self, session: Session) -> None:
        """Run the command until it stops, submits, or a limit is reached."""
        from reclaim_nb.agents.mcp_server import ToolServer

        _end_orphan(session)
        with contextlib.ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=SCRATCH)))
            async with ToolServer(session) as server:
                await _Run(session, self._adapter, self._options, self._program, scratch, server).go()


class _Run:
    """One command over one attempt."""

    def __init__(
        self, session: Session, adapter: Adapter, options: CommandOptions, program: str, scratch: Path, server: Any
    ) -> None:
        self._session, self._adapter, self._program, self._server = session, adapter, program, server
        self._work = scratch / "work"
        self._config = scratch / "config"
        self._home = Path(options.home).expanduser().absolute() if options.home else scratch / "home"
        self._options = options
        self._values = self._placeholders()
        self._environment = self._variables(scratch)
        keys = [os.environ[name] for name in adapter.keys if name in os.environ]
        self._redactor = Redactor.of_environment(more=[*keys, server.token])
        self._reader, self._base = UsageReader(adapter, options.model), session.model.usage
        self._given: set[Path] = set()
        self._read_to: dict[Path, int] = {}
        self._tail: list[str] = []

    async def go(self) -> None:
        self._work.mkdir()
        self._home.mkdir(exist_ok=True)
        for name in self._adapter.folders:
            Path(fill_value(name, self._values)).mkdir(parents=True, exist_ok=True)
        self._fresh_lines()  # what is there already is not of this attempt
        for name, content in self._adapter.files.items():
            if self._options.home and name.startswith("$home/"):
                continue
            path = Path(fill_value(name, self._values))
            path.parent.mkdir(parents=True, exist_ok=True)
            self._given.add(path)
            filled = fill_value(content, self._values)
            path.write_text(filled if isinstance(filled, str) else json.dumps(filled, indent=1), "utf-8")
        prompt, again = self._first_prompt(), False
        while True:
            code = await self._run_once(prompt, again)
            self._session.require_open()
            self._require_sound(code)
            words = self._session.model.last_words() if self._adapter.goes_on else None
            if words is None:
                raise AttemptOver("agent_stopped", f"{self._adapter.program} ended without a submission")
            prompt, again = words, True

    async def _run_once(self, prompt: str, again: bool) -> int:
        """Run the command to its end and return its exit code."""
        session, adapter = self._session, self._adapter
        values = {**self._values, "prompt": prompt, "again": "yes" if again else ""}
        words = fill_words(adapter.words, values)
        self._reader.begin_run()
        stdin = fill_value(adapter.stdin, values)
        folder = session.recorder.folder.path
        with (
            open(folder / TRANSCRIPT, "ab") as transcript,
            open(folder / ERRORS, "ab") as errors,
        ):

            async def on_tick() -> None:
                told = [self._reader.take(line) for line in self._fresh_lines()]
                await self._note_usage(any(told))

            async def on_line(line: str) -> None:
                plain = self._redactor.text(line)
                transcript.write(plain.encode("utf-8", "backslashreplace") + b"\n")
                transcript.flush()
                self._tail = [*self._tail[-40:], plain]
                await on_tick()  # what the files tell comes before a sum over it
                await self._note_usage(self._reader.take(line))

            async def on_error(line: str) -> None:
                plain = self._redactor.text(line)
                errors.write(plain.encode("utf-8", "backslashreplace") + b"\n")
                errors.flush()
                self._tail = [*self._tail[-40:], plain]

            process = await Process.start(
                [self._program, *words], cwd=self._work, environment=self._environment, stdin=stdin
            )
            shown = [self._redactor.text(w) if w not in (prompt, values["system"]) else "(prompt)" for w in words]
            started = {
                "command": adapter.name,
                "program": self._program,
                "words": shown,
                "again": again,
                "scratch": str(self._work.parent),
            }
            session.model.record("started", started | process.identity | {"version": await self._version()})
            over: AttemptOver | None = None
            try:
                code = await session.model.until_over(process.read(on_line, on_error, on_tick))
            except AttemptOver as ended:
                over = ended
                if ended.reason == "submitted":
                    with contextlib.suppress(TimeoutError, AttemptOver):
                        async with asyncio.timeout(LINGER_SECONDS):
                            await process.read(on_line, on_error, on_tick)
            finally:
                code = await process.end()
                with contextlib.suppress(AttemptOver):
                    await on_tick()
                session.model.record("exited", {"command": adapter.name, "code": code, "files_left": self._left()})
            if over is not None:
                raise over
        return code

    def _left(self) -> list[str]:
        """Return files that the command has made in its scratch folder, where nothing is to be made."""
        made = {path for path in self._work.rglob("*") if path.is_file()} - self._given
        return sorted(str(path.relative_to(self._work)) for path in made)[:100]

    async def _note_usage(self, told: bool) -> None:
        if not told:
            return
        book = self._session.model
        book.record("usage", {"command": self._adapter.name}, total=self._base + self._reader.total)
        if self._session.over:
            return
        if self._session.limits.usd is not None and self._session.usd is None:
            detail = (
                f"the price of what {self._adapter.program} uses is not known, so the limit in dollars cannot be kept"
            )
            raise AttemptOver("infrastructure_error", detail)
        await book.require_means()

    def _fresh_lines(self) -> list[str]:
        """Return whole lines that have come into the files in which the command tells usage as well."""
        if self._adapter.also_read is None:
            return []
        pattern = Path(fill_value(self._adapter.also_read, self._values))
        lines: list[str] = []
        for path in sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))):
            with open(path, "rb") as file:
                file.seek(self._read_to.get(path, 0))
                *whole, rest = file.read().split(b"\n")
                self._read_to[path] = file.tell() - len(rest)
            lines += [line.decode("utf-8", "replace") for line in whole]
        return lines

    def _first_prompt(self) -> str:
        prompts = self._session.prompts
        written = [cell for cell in self._session.cells.values() if cell.author == "agent"]
        uses_system = any("$system" in str(part) for part in (*self._adapter.words, *self._adapter.files.values()))
        parts = [prompts.task] if uses_system else [prompts.system, prompts.task]
        if written:  # an earlier runner died, and the command's own conversation with it
            cells = "\n".join(f"- cell {cell.cell}: {cell.status or cell.cell_type}" for cell in written)
            parts.append(fill(prompts.continued, {"cells": cells}))
        return "\n\n".join(parts)

    def _require_sound(self, code: int) -> None:
        """Tell a fault of the command's service from a stop.

        Raises:
            AttemptOver: when it failed.
        """
        tail = "\n".join(self._tail)
        fault = next((text for text in self._adapter.faults if text.casefold() in tail.casefold()), None)
        if code == 0 and not (fault and self._server.calls == 0):
            return
        name, last = self._adapter.program, " ".join(tail.split())[-600:]
        if fault is not None or self._server.calls == 0:
            raise AttemptOver("infrastructure_error", f"{name} ended with exit code {code}: {last}")
        raise AttemptOver("agent_error", f"{name} ended with exit code {code}: {last}")

    def _placeholders(self) -> dict[str, str]:
        model = self._options.model or ""
        provider, _, model_name = model.partition("/")
        return {
            "url": self._server.url,
            "token": self._server.token,
            "system": self._session.prompts.system,
            "model": model,
            "provider": provider,
            "model_name": model_name or model,
            "base_url": self._options.base_url or "",
            "scratch": str(self._work),
            "home": str(self._home),
            "config": str(self._config),
            "python": sys.executable,
        }

    def _variables(self, scratch: Path) -> dict[str, str]:
        variables = {name: os.environ[name] for name in (*PASSED_ON, *self._adapter.keys) if name in os.environ}
        temporary = scratch / "tmp"
        temporary.mkdir()
        variables |= {"HOME": str(self._home), "TMPDIR": str(temporary), "TERM": "dumb", "NO_COLOR": "1"}
        for name, text in self._adapter.environment.items():
            variables[name] = fill_value(text, self._values)
        for option, more in self._adapter.environment_when.items():
            if self._values[option]:
                variables |= {name: fill_value(text, self._values) for name, text in more.items()}
        return variables

    async def _version(self) -> str | None:
        return await asyncio.to_thread(program_version, self._program, self._adapter, self._environment)


def program_version(program: str, adapter: Adapter, environment: dict[str, str] | None = None) -> str | None:
    """Return what a command says is its version, None when it does not."""
    try:
        told = subprocess.run(
            [program, *adapter.version],
            capture_output=True,
            text=True,
            timeout=30,
            env=environment,
            stdin=subprocess.DEVNULL,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return (told.stdout.strip() or told.stderr.strip()).splitlines()[-1][:200] if told.stdout or told.stderr else None


def _end_orphan(session: Session) -> None:
    """End the command that a dead runner of this attempt has left, and remove its folder."""
    started = [e.data for e in session.recorder.history if e.kind == "model" and e.data["what"] == "started"]
    if started:
        end_tree(started[-1]["pid"], started[-1]["created"])
        scratch = Path(started[-1]["scratch"])
        if scratch.name.startswith(SCRATCH):
            shutil.rmtree(scratch, ignore_errors=True)


def _agent(name: str, options: dict[str, Any]) -> CommandAgent:
    try:
        checked = CommandOptions.model_validate(options)
    except ValidationError as problem:
        faults = "; ".join(f"{'.'.join(map(str, f['loc']))}: {f['msg']}" for f in problem.errors(include_input=False))
        names = ", ".join(CommandOptions.model_fields)
        raise WrongOption(f"options of the agent {name}: {faults}; there are {names}") from None
    if name == "command" and not checked.adapter:
        raise AttemptError("the agent command needs --option adapter=FILE, which tells how to drive it")
    return CommandAgent(load_adapter(checked.adapter or name), checked)


def claude_code(options: dict[str, Any], card: LoadedCard) -> CommandAgent:
    """Return the agent ``claude-code``."""
    return _agent("claude-code", options)


def codex(options: dict[str, Any], card: LoadedCard) -> CommandAgent:
    """Return the agent ``codex``."""
    return _agent("codex", options)


def gemini_cli(options: dict[str, Any], card: LoadedCard) -> CommandAgent:
    """Return the agent ``gemini-cli``."""
    return _agent("gemini-cli", options)


def opencode(options: dict[str, Any], card: LoadedCard) -> CommandAgent:
    """Return the agent ``opencode``."""
    return _agent("opencode", options)


def command(options: dict[str, Any], card: LoadedCard) -> CommandAgent:
    """Return the agent ``command``: any command, by a file that tells how to drive it."""
    return _agent("command", options)
