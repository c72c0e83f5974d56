"""Reads shell commands far enough to tell a measurement from an echo."""

from __future__ import annotations

import re
import shlex

from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.lineage.flow import EMPTY, Flow, replace
from reclaim_nb.grading.lineage.records import Command, Emission
from reclaim_nb.grading.lineage.state import State
from reclaim_nb.grading.words import words

_MOVERS = words(
    """
    cat head tail less more grep egrep fgrep rg sed awk gawk jq yq cut sort uniq tr strings nl tac paste column
    fold tee xargs bc dc zcat gunzip xmllint base64 od xxd rev hexdump
    """
)
_SILENT = words(
    """
    cd mkdir rm ls pwd export set unset source . pip pip3 uv conda mamba apt apt-get git wget curl chmod chown
    touch ln true false sleep kill wait nvidia-smi df du free which date uname test [ : exit rsync tar unzip zip
    find wc md5sum sha256sum stat file make cmake nproc lscpu env printenv tree diff exec trap ulimit alias
    """
)
_PYTHON = re.compile(r"^(?:\S*/)?(?:python|python3|python3\.\d+|pypy3?|ipython3?)$")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(.*?)\n\s*\2[ \t]*(?=\n|$)", re.DOTALL)
_ASSIGN = re.compile(r"^([A-Za-z_]\w*)=(.*)$", re.DOTALL)
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)[^}\s\"']*\}?|\{([A-Za-z_][\w.\[\]'\"]*)(?::[^{}]*)?\}")
_INLINE_NUMBERS = re.compile(r"BEGIN\s*\{[^$]*\}|^\s*(?:print|puts|console\.log|say)\b", re.DOTALL)


class Shell(State):
    """The shell's half of the analysis."""

    def shell(self, text: str, *, python_names: bool, silent: bool = False) -> Flow:
        """Read shell commands.

        Args:
            text: one or more commands.
            python_names: whether ``{name}`` and ``$name`` stand for the notebook's names, as after ``!``.
            silent: whether the output is caught instead of shown.

        Returns:
            what the commands print.
        """
        documents: list[str] = []

        def keep(match: re.Match[str]) -> str:
            documents.append(match[4])
            return f"__DOC{len(documents) - 1}__ {match[3]}"

        text = _HEREDOC.sub(keep, text).replace("\\\n", " ")
        variables: dict[str, Flow] = {}
        printed: list[Flow] = []
        for pipeline in _pipelines(text):
            self.steps += 20
            output = self._pipeline(pipeline, documents, variables, python_names)
            if output is not EMPTY:
                printed.append(output)
                if not silent:
                    parts = output.parts if output.parts is not None else (output,)
                    self.records.emit(Emission(self.current, "shell", 0, parts))
        if not printed:
            return EMPTY
        return printed[0] if len(printed) == 1 else f.text_flow(printed)

    def _pipeline(
        self, commands: list[str], documents: list[str], variables: dict[str, Flow], python_names: bool
    ) -> Flow:
        piped: Flow = EMPTY
        for command in commands:
            piped = self._command(command, documents, variables, python_names, piped)
        return piped

    def _command(
        self, command: str, documents: list[str], variables: dict[str, Flow], python_names: bool, piped: Flow
    ) -> Flow:
        command, target, add = _redirect(command)
        try:
            words = shlex.split(command, comments=False)
        except ValueError:
            words = command.split()
        document = next((documents[int(m[1])] for w in words if (m := re.fullmatch(r"__DOC(\d+)__", w))), None)
        words = [word for word in words if not re.fullmatch(r"__DOC\d+__", word)]
        while words and (match := _ASSIGN.match(words[0])) is not None:
            variables[match[1]] = self._expand(match[2], variables, python_names)
            words = words[1:]
        while words and words[0] in (
            "sudo",
            "time",
            "nohup",
            "env",
            "stdbuf",
            "nice",
            "timeout",
            "exec",
            "command",
            "bash",
            "sh",
        ):
            if words[0] in ("bash", "sh"):
                return self._script(words[1:], document, variables, python_names, piped)
            words = words[1:]
            while words and (
                words[0].startswith("-") or re.fullmatch(r"[\d.]+[smh]?", words[0]) or _ASSIGN.match(words[0])
            ):
                words = words[1:]
        if not words:
            return EMPTY
        program = words[0].rsplit("/", 1)[-1]
        self.records.commands.append(Command(self.current, command.strip()[:2000], tuple(words[:60]), program))
        for word, after in zip(words, [*words[1:], ""], strict=True):
            self._option(word, after)
        output = self._output(program, words, document, variables, python_names, piped)
        if target is not None:
            path = self._expand(target, variables, python_names)
            if program == "cat" and document is not None and path.text is not None:
                self.write_text_file(path.text, document + "\n", add=add)
            elif program in ("echo", "printf") and path.text is not None and path.text.endswith((".py", ".sh")):
                self.write_text_file(path.text, (output.text or "") + "\n", add=add)
            elif path.text is not None and path.text not in ("/dev/null", "/dev/stderr", "/dev/stdout", "&1", "&2"):
                self.write_file(path, output if output is not EMPTY else f.UNKNOWN, add=add)
            elif path.text in ("/dev/stderr", "/dev/stdout", "&1", "&2"):
                return output
            return EMPTY
        return output

    def _option(self, word: str, after: str) -> None:
        match = re.match(r"^--?([A-Za-z][\w-]*)(?:=(.*))?$", word) or re.match(r"^\+{0,2}([A-Za-z][\w.]*)=(.*)$", word)
        if match is None:
            return
        value = match[2] if match[2] is not None else after
        if re.fullmatch(r"-?\d+(?:\.\d+)?", value or ""):
            self.note_setting(
                match[1].replace("-", "_").rsplit(".", 1)[-1], f.constant(float(value) if "." in value else int(value))
            )

    def note_setting(self, name: str, value: Flow) -> None:
        """Note a number given by name; the statements' half does."""

    def _script(
        self, words: list[str], document: str | None, variables: dict[str, Flow], python_names: bool, piped: Flow
    ) -> Flow:
        if "-c" in words and words.index("-c") + 1 < len(words):
            return self.shell(words[words.index("-c") + 1], python_names=python_names, silent=True)
        if document is not None:
            return self.shell(document, python_names=False, silent=True)
        path = next((word for word in words if not word.startswith("-")), None)
        if path is not None and self.path_key(path) in self.code:
            return self.shell(self.code[self.path_key(path)], python_names=False, silent=True)
        return self._program()

    def _program(self) -> Flow:
        self.records.opaque.add(self.current)
        self.records.ran_program.add(self.current)
        self.ran_program = True
        return Flow(frozenset({f.COMPUTED}), marks=frozenset({"program", "data"}), cells=frozenset({self.current}))

    def _output(
        self,
        program: str,
        words: list[str],
        document: str | None,
        variables: dict[str, Flow],
        python_names: bool,
        piped: Flow,
    ) -> Flow:
        if program == "echo":
            rest = [word for word in words[1:] if word not in ("-e", "-n", "-en", "-ne")]
            return f.text_flow([self._expand(" ".join(rest), variables, python_names)])
        if program == "printf":
            template = words[1] if len(words) > 1 else ""
            values = [self._expand(word, variables, python_names) for word in words[2:]]
            parts: list[str | Flow] = []
            position = 0
            for match in re.finditer(r"%[-\d.]*[sdfgei]", template):
                parts.append(template[position : match.start()])
                parts.append(values.pop(0) if values else f.UNKNOWN)
                position = match.end()
            parts.append(template[position:].replace("\\n", "\n"))
            return f.text_flow([p if isinstance(p, Flow) else p.replace("\\n", "\n") for p in parts])
        if _PYTHON.match(program):
            return self._python(words, document, piped)
        if program in _MOVERS:
            return self._mover(program, words, document, piped, variables, python_names)
        if program in ("cp", "mv", "install") and len(words) >= 3:
            self.write_file(f.constant(words[-1]), self.read_file(f.constant(words[-2])), add=False)
            return EMPTY
        if program in _SILENT:
            return (
                replace(f.UNKNOWN, marks=frozenset({"listing"}))
                if program in ("ls", "du", "wc", "git", "pip")
                else EMPTY
            )
        if program in ("perl", "node", "ruby", "Rscript", "php") and "-e" in words:
            code = words[words.index("-e") + 1] if words.index("-e") + 1 < len(words) else ""
            if _INLINE_NUMBERS.search(code):
                return replace(self.text_content(code), parts=None, const=f.NOTHING)
        return self._program()

    def _mover(
        self,
        program: str,
        words: list[str],
        document: str | None,
        piped: Flow,
        variables: dict[str, Flow],
        python_names: bool,
    ) -> Flow:
        if document is not None:
            return self.text_content(document)
        if program in ("awk", "gawk") and any("BEGIN" in word for word in words) and piped is EMPTY and len(words) <= 2:
            return replace(self.text_content(" ".join(words[1:])), parts=None, const=f.NOTHING)
        sources = []
        for word in words[1:]:
            if word.startswith("-"):
                continue
            value = self._expand(word, variables, python_names)
            path = value.text
            if path is None:
                if f.RELEASE in value.kinds:
                    sources.append(self.read_file(value))
                continue
            if (
                self.path_key(path) in self.files
                or self.is_shipped(path)
                or path.startswith("/release")
                or re.search(r"[/*]|\.(?:json|csv|txt|log|md|ya?ml|tsv|out|jsonl)$", path)
            ):
                sources.append(self.read_file(value))
            elif self.shipped and "*" in path:
                sources.append(Flow(frozenset({f.SHIPPED}), files=frozenset({path})))
        if program == "tee":
            for word in words[1:]:
                if not word.startswith("-"):
                    self.write_file(f.constant(word), piped, add=True)
            return piped
        if piped is not EMPTY:
            sources.append(piped)
        if not sources:
            return f.UNKNOWN
        if len(sources) == 1 and program in ("cat", "head", "tail"):
            return sources[0]
        both = f.merged(sources)
        return replace(both, parts=None, const=f.NOTHING)

    def _python(self, words: list[str], document: str | None, piped: Flow) -> Flow:
        if "-c" in words and words.index("-c") + 1 < len(words):
            return self._caught(words[words.index("-c") + 1], piped)
        if document is not None:
            return self._caught(document)
        if "-m" in words:
            return self._program()
        path = next((word for word in words[1:] if not word.startswith("-")), None)
        if path is None:
            return self._caught(piped.text) if piped.text is not None else self._program()
        source = self.code.get(self.path_key(path))
        if source is None:
            return self._program()
        return self._caught(source, piped)

    def _caught(self, source: str, piped: Flow = EMPTY) -> Flow:
        """Read a Python program and return what it prints."""
        outer, self.stdin = self.stdin, replace(piped, parts=None, const=f.NOTHING) if piped is not EMPTY else EMPTY
        held = self.records.emissions.get(self.current, [])
        count = len(held)
        opaque = self.current in self.records.opaque
        self.run_code(source, fresh=True)
        self.stdin = outer
        self.ran_program = True
        held = self.records.emissions.get(self.current, [])
        printed, held[count:] = held[count:], []
        if not printed:
            return f.UNKNOWN if self.current in self.records.opaque else EMPTY
        pieces: list[str | Flow] = []
        for emission in printed:
            pieces.extend((*emission.parts, "\n"))
        flow = f.text_flow(pieces)
        if self.current in self.records.opaque and not opaque and not flow.kinds - {f.LITERAL}:
            flow = replace(flow, kinds=flow.kinds | frozenset())
        return replace(flow, const=f.NOTHING if flow.kinds - {f.LITERAL} else flow.const)

    def _expand(self, text: str, variables: dict[str, Flow], python_names: bool) -> Flow:
        parts: list[str | Flow] = []
        position = 0
        for match in _VARIABLE.finditer(text):
            name = match[1] or re.split(r"[.\[]", match[2], maxsplit=1)[0]
            value = variables.get(name)
            if value is None and python_names:
                value = self.lookup(name)
                if value is not None and match[2] and (key := re.search(r"\[['\"]?([^'\"\]]+)['\"]?\]", match[2])):
                    value = (value.fields or {}).get(key[1], value)
            if value is None:
                if match[2]:
                    continue
                value = f.UNKNOWN
            parts.append(text[position : match.start()])
            parts.append(value if value.parts is None else replace(value))
            position = match.end()
        parts.append(text[position:])
        if re.search(r"\$\(|`", text):
            inner = re.search(r"\$\((.*)\)|`(.*)`", text, re.DOTALL)
            if inner is not None:
                return self.shell(inner[1] or inner[2], python_names=python_names, silent=True)
        flow = f.text_flow(parts)
        if len(parts) == 3 and not parts[0] and not parts[2] and isinstance(parts[1], Flow):
            only = parts[1]
            return only if only.path is not None else flow
        return flow


def _pipelines(text: str) -> list[list[str]]:
    """Split shell text into pipelines of commands, quotes respected."""
    pipelines: list[list[str]] = [[]]
    current = ""
    quote = ""
    index = 0
    depth = 0
    while index < len(text):
        char = text[index]
        two = text[index : index + 2]
        if quote:
            current += char
            if char == "\\" and quote == '"' and index + 1 < len(text):
                index += 1
                current += text[index]
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
            current += char
        elif two == "$(":
            depth += 1
            current += two
            index += 1
        elif char == ")" and depth:
            depth -= 1
            current += char
        elif depth:
            current += char
        elif char == "#" and (not current or current[-1].isspace()):
            while index + 1 < len(text) and text[index + 1] != "\n":
                index += 1
        elif two in ("&&", "||"):
            pipelines[-1].append(current)
            pipelines.append([])
            current = ""
            index += 1
        elif char in ";\n" or (char == "&" and text[index - 1 : index] != ">" and text[index + 1 : index + 2] != ">"):
            pipelines[-1].append(current)
            pipelines.append([])
            current = ""
        elif char == "|":
            pipelines[-1].append(current)
            current = ""
        else:
            current += char
        index += 1
    pipelines[-1].append(current)
    cleaned = [[command.strip() for command in pipeline if command.strip()] for pipeline in pipelines]
    return [pipeline for pipeline in cleaned if pipeline]


def _redirect(command: str) -> tuple[str, str | None, bool]:
    """Take the redirection of standard output off a command; return the command, the file, whether it is added to."""
    command = re.sub(r"\s*2>&1|\s*2>\s*\S+|\s*&>\s*/dev/null", "", command)
    match = re.search(r"(?<![<>=\-0-9])\s*(>>?|&>)\s*([^\s<>|&]+|\"[^\"]+\"|'[^']+')\s*((?:__DOC\d+__)?.*)$", command)
    if match is None or _quoted(command, match.start(1)):
        return command, None, False
    return (command[: match.start()] + " " + match[3]).strip(), match[2].strip("'\""), match[1] == ">>"


def _quoted(text: str, place: int) -> bool:
    before = text[:place]
    return before.count('"') % 2 == 1 or before.count("'") % 2 == 1
