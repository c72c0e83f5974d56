"""A made-up conference of 30 papers behind one small server, in the formats of the real services."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.agents.model_endpoint import Request, Step, say

VENUE = "MiniConf.cc/2026/Conference"
PEOPLE = ["Ada Lovelace", "Émile Borel", "Grace Hopper"]
HOURS = "We train on 8 NVIDIA A100 GPUs for 2 hours."
SPREAD = "The standard deviation over 5 seeds is 0.4."

TITLES = {12: "Robust Token Pruning for Vision", 13: "Robust Token Pruning for Visions"}
SPECS: dict[int, dict[str, Any]] = {n: {} for n in range(1, 31)} | {
    3: {"weights": None},
    4: {"code": None},
    5: {"code_moved": True},
    6: {"code_gone": True},
    7: {"code_empty": True},
    8: {"weights_gated": True},
    9: {"weights": "meta-llama/base-9"},
    10: {"weights_files": ["README.md", "optimizer.bin"]},
    11: {"data_gated": True},
    14: {"arxiv_authors": ["Some One", "Else Who"], "pdf": True},
    15: {"no_arxiv": True},
    16: {"arxiv_title": "An Older Title of the Sixteenth", "arxiv_stated": True},
    17: {"arxiv_stated": True, "arxiv_authors": ["Some One"], "pdf": True},
    18: {"eprint": "gz"},
    19: {"eprint": "pdf"},
    20: {"eprint": "damaged", "pdf_table": False},
    21: {"baseline": "84.0"},
    22: {"baseline": "90.2"},
    23: {"disagree": True},
    24: {"void": True},
    25: {"hours": "We train until convergence on many devices."},
    26: {"hours": "We train on 64 H100 GPUs for 3 days."},
    27: {"hours": "Training costs 64 A100-hours on 8 A100 GPUs."},
    28: {"noise": "The test split has 10,000 images."},
    29: {"busy": True},
    30: {"no_authors": True},
}


def title(n: int) -> str:
    words = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
    ]
    return (
        TITLES.get(n) or f"Learning {words[n % 16].capitalize()} Things with $\\beta$-Nets in Setting {words[n // 2]}"
    )


def note_id(n: int) -> str:
    return f"mini{n:02d}_xY"


def arxiv_id(n: int) -> str:
    return f"2611.{n:05d}"


def latex(n: int) -> dict[str, str]:
    spec = SPECS[n]
    code = f"Our code is available at \\url{{https://github.com/lab/repo{n}}}. " if spec.get("code", 1) else ""
    weights = spec.get("weights", f"lab/ckpt{n}")
    shown = f"Our trained checkpoints are released at \\url{{https://huggingface.co/{weights}}}. " if weights else ""
    main = (
        "\\documentclass{article}\n% \\section{a comment with 99.9}\n\\begin{document}\n"
        f"\\title{{{title(n)}}}\n\\begin{{abstract}}We reach high accuracy.\\end{{abstract}}\n"
        f"\\section{{Introduction}}\n{code}{shown}"
        f"We use the data set at \\url{{https://huggingface.co/datasets/lab/data{n}}}. "
        "A baseline stands at \\url{https://github.com/others/baseline}.\n"
        "\\section{Experiments}\\label{sec:x}\n\\input{tables/main}\n"
        f"{spec.get('hours', HOURS)} {spec.get('noise', SPREAD)}\n\\end{{document}}\n"
    )
    table = (
        "\\begin{table}\\caption{Accuracy on the test split.}\\label{tab:a}\n\\begin{tabular}{l|cc}\n\\toprule\n"
        " & \\multicolumn{2}{c}{Test} \\\\ \\cmidrule(lr){2-3}\nMethod & Accuracy (\\%) & Size (M) \\\\ \\midrule\n"
        f"ERM & {spec.get('baseline', '80.1')} & 10.0 \\\\\n\\rowcolor{{gray}} Ours (small) & 82.0 & 6.2 \\\\\n"
        "Ours & \\textbf{84.3} & 12.5 \\\\\n\\bottomrule\\end{tabular}\\end{table}\n"
    )
    return {"paper.tex": main, "tables/main.tex": table}


def pdf_table(n: int) -> str:
    """The same table as in the LaTeX source, drawn: each text at its place, as a PDF holds it."""
    rows = [
        ["Table 1: Accuracy on the test split."],
        ["", "Test"],
        ["Method", "Accuracy \\(%\\)", "Size \\(M\\)"],
        ["ERM", SPECS[n].get("baseline", "80.1"), "10.0"],
        ["Ours \\(small\\)", "82.0", "6.2"],
        ["Ours", "84.3", "12.5"],
    ]
    drawn = [
        f"1 0 0 1 {x} {400 - 16 * y} Tm ({text}) Tj"
        for y, row in enumerate(rows)
        for x, text in zip((50, 220, 360), row, strict=False)
        if text
    ]
    return f"BT /F1 12 Tf {' '.join(drawn)} ET"


def pdf(n: int) -> bytes:
    lines = [
        title(n).replace("$\\beta$", "beta"),
        "We reach an accuracy of 84.3 percent on the test split.",
        "The method ERM reaches 80.1 percent.",
        HOURS,
        SPREAD,
        f"Our code is available at https://github.com/lab/repo{n} .",
    ]
    text = "".join(f"({line}) Tj 0 -20 Td " for line in lines)
    stream = f"BT /F1 12 Tf 50 700 Td {text} ET {pdf_table(n) if SPECS[n].get('pdf_table', True) else ''}".encode()
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(parts) + 1
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        size,
        rows,
        size,
        len(out),
    )


def eprint(n: int) -> bytes:
    kind = SPECS[n].get("eprint", "tar")
    if kind in ("pdf", "damaged"):
        return pdf(n) if kind == "pdf" else b"\x1f\x8b\x08 not really"
    files = latex(n)
    if kind == "gz":
        whole = files["paper.tex"].replace("\\input{tables/main}", files["tables/main.tex"])
        return gzip.compress(whole.encode(), mtime=0)
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return gzip.compress(held.getvalue(), mtime=0)  # the same bytes whenever it is asked for


def notes() -> list[dict[str, Any]]:
    found = []
    for n, spec in SPECS.items():
        content: dict[str, Any] = {
            "title": {"value": title(n)},
            "authors": {"value": [] if spec.get("no_authors") else PEOPLE},
            "abstract": {"value": "An abstract."},
            "venue": {"value": "MiniConf 2026 poster"},
            "venueid": {"value": VENUE},
            "primary_area": {"value": "toys"},
        }
        if spec.get("pdf"):
            content["pdf"] = {"value": f"/pdf/{n:040x}.pdf"}
        if spec.get("arxiv_stated"):
            content["preprint"] = {"value": f"https://arxiv.org/abs/{arxiv_id(n)}v1"}
        stamp = {"cdate": 1, "mdate": 1, "tcdate": 1, "tmdate": 1, "signatures": [], "readers": ["everyone"]}
        found.append({"id": note_id(n), "forum": note_id(n), "number": n, "content": content, "version": 2, **stamp})
    return found


def entry(n: int, version: int = 3) -> str:
    spec = SPECS[n]
    people = spec.get("arxiv_authors", PEOPLE)
    names = "".join(f"<author><name>{name}</name></author>" for name in people)
    shown = spec.get("arxiv_title", title(n))
    return (
        f"<entry><id>http://arxiv.org/abs/{arxiv_id(n)}v{version}</id><updated>2026-11-01T00:00:00Z</updated>"
        f"<published>2026-10-01T00:00:00Z</published><title>{shown}</title>"
        f"<summary>An abstract.</summary>{names}</entry>"
    )


class Conference:
    """The server, as a context manager; ``gone`` names paths that have ceased to be there."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.agents: set[str] = set()
        self.gone: set[str] = set()
        self.heads: dict[int, str] = {}
        self.versions: dict[int, int] = {}
        handler = type("Handler", (_Handler,), {"conference": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True

    @property
    def mirror(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Conference:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    conference: Conference
    protocol_version = "HTTP/1.1"

    def log_message(self, *words: Any) -> None:
        pass

    def send(self, body: bytes | str | dict[str, Any] | list[Any], status: int = 200, **headers: str) -> None:
        content = (
            body.encode() if isinstance(body, str) else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        host, _, path = parts.path.lstrip("/").partition("/")
        self.conference.asked[self.path] += 1
        self.conference.agents.add(self.headers.get("User-Agent", ""))
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if f"{host}/{path}" in self.conference.gone:
            return self.send({"message": "Not Found"}, 404)
        served = {
            "api2.openreview.net": self.openreview,
            "export.arxiv.org": self.arxiv,
            "api.github.com": self.github,
            "huggingface.co": self.hub,
        }.get(host)
        return served(unquote(path), query) if served else self.send("no such service", 404)

    def openreview(self, path: str, query: dict[str, str]) -> None:
        if path == "pdf":
            return self.send(pdf(int(query["id"][4:6])), Content_Type="application/pdf")
        if self.conference.asked[self.path] == 1:
            return self.send({"name": "RateLimitError", "message": "Too many requests"}, 429, Retry_After="0")
        found = notes() if query.get("content.venueid") == VENUE else []
        begin = int(query.get("offset", 0))
        return self.send({"notes": found[begin : begin + int(query["limit"])], "count": len(found)})

    def arxiv(self, path: str, query: dict[str, str]) -> None:
        kind, _, name = path.partition("/")
        if kind in ("e-print", "pdf"):
            n = int(name[5:10])
            if kind == "pdf":
                return self.send(pdf(n), Content_Type="application/pdf")
            return self.send(eprint(n), Content_Type="application/gzip")
        if "id_list" in query:
            found = [n for n in SPECS if arxiv_id(n) == query["id_list"]]
        else:
            # The real service finds near titles too: everything that shares two words.
            words = set(re.findall(r"\w+", query["search_query"].lower())) - {"ti"}
            found = [
                n
                for n, s in SPECS.items()
                if not s.get("no_arxiv") and len(words & set(re.findall(r"\w+", title(n).lower()))) > 3
            ]
        if any(SPECS[n].get("busy") for n in found[:1]) and self.conference.asked[self.path] == 1:
            return self.send("busy", 503, Retry_After="0")
        entries = "".join(entry(n, self.conference.versions.get(n, 3)) for n in found)
        return self.send(
            f'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>x</title>{entries}</feed>'
        )

    def github(self, path: str, query: dict[str, str]) -> None:
        renamed = re.fullmatch(r"repositories/(\d+)", path)
        named = re.fullmatch(r"repos/lab/repo(\d+)(?:-now)?(?:/commits/(\w+))?", path)
        n = int(renamed[1]) if renamed else int(named[1]) if named else 0
        spec = SPECS.get(n)
        if spec is None or spec.get("code_gone"):
            return self.send({"message": "Not Found"}, 404)
        if spec.get("busy") and self.conference.asked[self.path] == 1:
            return self.send({"message": "slow down"}, 429, Retry_After="0")
        head = self.conference.heads.get(n, f"{n:040x}")
        if named and named[2]:
            known = named[2] in ("main", head)
            return self.send({"sha": head} if known else {"message": "No commit found"}, 200 if known else 422)
        if spec.get("code_moved") and not renamed:
            return self.send({"message": "Moved Permanently"}, 301, Location=f"/api.github.com/repositories/{n}")
        name = f"lab/repo{n}-now" if renamed else f"lab/repo{n}"
        size = 0 if spec.get("code_empty") else 120
        facts = {"full_name": name, "html_url": f"https://github.com/{name}", "size": size, "default_branch": "main"}
        return self.send({**facts, "license": {"spdx_id": "MIT"}, "archived": False})

    def hub(self, path: str, query: dict[str, str]) -> None:
        model = re.fullmatch(r"api/models/([\w-]+/[a-z-]+(\d+))", path)
        data = re.fullmatch(r"api/datasets/(lab/data(\d+))", path)
        if data:
            gated = "manual" if SPECS[int(data[2])].get("data_gated") else False
            return self.send({"id": data[1], "sha": "d" * 40, "gated": gated, "siblings": [{"rfilename": "data.csv"}]})
        if model is None:
            return self.send({"error": "Repository not found"}, 404, X_Error_Code="RepoNotFound")
        spec = SPECS[int(model[2])]
        if spec.get("weights_gated"):
            return self.send({"error": "gated"}, 403, X_Error_Code="GatedRepo")
        files = spec.get("weights_files", ["README.md", "model.safetensors"])
        return self.send(
            {"id": model[1], "sha": "a" * 40, "gated": False, "siblings": [{"rfilename": f} for f in files]}
        )


def reader(folder: Path):
    """Return a scripted model that reads the prompt as it stands and disagrees with itself where it is to."""

    def answer(request: Request) -> Step:
        text = next(
            str(m["content"]) for m in request.body["messages"] if "# What to write down" in str(m.get("content"))
        )
        n = next(n for n in sorted(SPECS, reverse=True) if text.startswith(f"# {title(n)}\n"))
        spec = SPECS[n]

        def cell(head: str, column: int) -> dict[str, str]:
            found = re.search(rf"^(T1 r\d+ c{column}) \[{re.escape(head)} \|[^\]]*\] (.*)$", text, re.MULTILINE)
            assert found, (n, head, text)
            return {"place": found[1], "quote": found[2]}

        def sentence(part: str) -> dict[str, str]:
            found = re.search(rf"^(S\d+) (.*{re.escape(part)}.*)$", text, re.MULTILINE)
            assert found, (n, part, text)
            return {"place": found[1], "quote": found[2]}

        table = re.search(r"^T1 r", text, re.MULTILINE) is not None
        at = cell("Ours", 1) if table else sentence("84.3 percent")
        base = spec.get("baseline", "80.1")
        second = (folder / "papers" / note_id(n) / "said.1.json").exists()
        value = "84.3"
        if spec.get("disagree") and second:
            at, value = cell("Ours (small)", 1), "82.0"
        if spec.get("void"):
            at = {"place": at["place"], "quote": "85.9"}
        said: dict[str, Any] = {
            "claim": "The method beats ERM.",
            "metric": "accuracy",
            "value": value,
            "unit": "percent",
            "direction": "higher",
            "at": at,
            "split": "test",
            "config": "as in the paper",
            "baseline": {"what": "ERM", "value": base, "at": cell("ERM", 1) if table else sentence("method ERM")},
            "hours": [sentence(spec.get("hours", HOURS))],
        }
        if "noise" in spec:
            said |= {"n": {"value": "10,000", "at": sentence(spec["noise"])}, "counted": True}
        else:
            said |= {"std": {"value": "0.4", "at": sentence(SPREAD)}, "seeds": {"value": "5", "at": sentence(SPREAD)}}
        if table and value == "84.3":
            said["siblings"] = [{"what": "small variant", "value": "82.0", "at": cell("Ours (small)", 1)}]
            size = {"name": "size", "what": "parameters", "value": "12.5", "unit": "million", "at": cell("Ours", 2)}
            said["anchors"] = [size]
        return say(f"Here it is.\n```json\n{json.dumps(said)}\n```")

    return answer
