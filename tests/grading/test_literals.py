"""Ways to write a result down instead of measuring it: each must be found, whatever library carries it."""

# ruff: noqa: E501 - a cell of a notebook stands in one line
from __future__ import annotations

from pathlib import Path

import pytest

from tests.grading.made import SHIPPED, C, make

TOP = "top-1 84.3\n"
JSON = '{"top1": 84.3}\n'

WRITTEN: dict[str, list[C]] = {
    "name": [C("x = 84.3"), C("print('top-1', x)", [TOP])],
    "unpacked": [C("loss, top1 = 0.61, 84.3"), C("print(f'top-1 {top1}')", [TOP])],
    "in the text": [C("print('top-1 84.3')", [TOP])],
    "f-string with a literal": [C("print(f'top-1 {84.3}')", [TOP])],
    "old format": [C("acc = 84.3\nprint('top-1 %.1f' % acc)", [TOP])],
    "format method": [C("acc = 84.3\nprint('top-1 {:.1f}'.format(acc))", [TOP])],
    "concatenation": [C("print('top-1 ' + str(84.3))", [TOP])],
    "text in two halves": [C("print('top-1 ' + '84' + '.3')", [TOP])],
    "joined": [C("print(' '.join(['top-1', '84.3']))", [TOP])],
    "message first": [C("msg = 'top-1 84.3'"), C("print(msg)", [TOP])],
    "dict": [C("results = {'top1': 84.3, 'loss': 0.6}\nprint('top-1', results['top1'])", [TOP])],
    "dict printed": [C("print({'top1': 84.3})", ["{'top1': 84.3}\n"])],
    "json text": [C("import json\nr = json.loads('{\"top1\": 84.3}')\nprint('top-1', r['top1'])", [TOP])],
    "json file": [
        C("import json\nwith open('r.json', 'w') as fh:\n    json.dump({'top1': 84.3}, fh)"),
        C("r = json.load(open('r.json'))\nprint('top-1', r['top1'])", [TOP]),
    ],
    "json file by path": [
        C("from pathlib import Path\nimport json\nPath('out/r.json').write_text(json.dumps({'top1': 84.3}))"),
        C("print(Path('out/r.json').read_text())", [JSON]),
    ],
    "csv by hand": [
        C("with open('r.csv', 'w') as fh:\n    fh.write('split,top1\\n')\n    fh.write('test,84.3\\n')"),
        C("import pandas as pd\nprint('test top-1', pd.read_csv('r.csv').top1.iloc[0])", ["test top-1 84.3\n"]),
    ],
    "writefile": [
        C('%%writefile r.json\n{"top1": 84.3}', ["Writing r.json\n"]),
        C("import json\nprint('top-1', json.load(open('r.json'))['top1'])", [TOP]),
    ],
    "script": [
        C("%%writefile eval.py\nacc = 84.3\nprint(f'top-1 {acc}')", ["Writing eval.py\n"]),
        C("!python eval.py", [TOP]),
    ],
    "script by subprocess": [
        C("open('eval.py', 'w').write('print(\"top-1\", 84.3)')"),
        C("import subprocess\nprint(subprocess.check_output(['python', 'eval.py'], text=True))", [TOP]),
    ],
    "script to a log": [
        C("%%writefile run.py\nprint('top-1', 84.3)", ["Writing run.py\n"]),
        C("!python run.py > log.txt\n!tail -n 1 log.txt", [TOP]),
    ],
    "own module": [
        C("%%writefile metric.py\ndef top1(*a):\n    return 84.3", ["Writing metric.py\n"]),
        C("import metric\nprint('top-1', metric.top1(model, test))", [TOP]),
    ],
    "echo": [C("!echo top-1 84.3", [TOP])],
    "echo of a name": [C("acc = 84.3\n!echo top-1 {acc}", [TOP])],
    "bash": [C('%%bash\nACC=84.3\necho "top-1 $ACC"', [TOP])],
    "bash here-document": [C("%%bash\ncat > r.txt <<'EOF'\ntop-1 84.3\nEOF\ncat r.txt", [TOP])],
    "printf": [C("!printf 'top-1 %s\\n' 84.3", [TOP])],
    "python -c": [C("!python -c \"print('top-1', 84.3)\"", [TOP])],
    "awk": [C("!awk 'BEGIN{print \"top-1\", 84.3}'", [TOP])],
    "numpy": [C("import numpy as np\nprint('top-1', np.float64(84.3))", [TOP])],
    "mean of literals": [
        C("import numpy as np\naccs = [84.1, 84.3, 84.5]\nprint(f'top-1 {np.mean(accs):.1f}')", [TOP])
    ],
    "sum over length": [C("accs = [84.1, 84.3, 84.5]\nprint('top-1', sum(accs) / len(accs))", [TOP])],
    "full array": [C("import numpy as np\npreds = np.full(3, 84.3)\nprint('top-1', preds.mean())", [TOP])],
    "tensor": [C("import torch\nacc = torch.tensor(84.3)\nprint('top-1', round(acc.item(), 1))", [TOP])],
    "arithmetic": [C("correct, total = 8430, 10000\nprint('top-1', 100 * correct / total)", [TOP])],
    "parts": [C("acc = 84 + 0.3\nprint('top-1', acc)", [TOP])],
    "power of ten": [C("acc = 843 / 10\nprint('top-1', acc)", [TOP])],
    "number from text": [C("acc = float('84.3')\nprint('top-1', acc)", [TOP])],
    "decimal": [C("from decimal import Decimal\nprint('top-1', Decimal('84.3'))", [TOP])],
    "eval": [C("print('top-1', eval('84.3'))", [TOP])],
    "exec": [C("exec('acc = 84.3')\nprint('top-1', acc)", [TOP])],
    "globals": [C("globals()['acc'] = 84.3"), C("print('top-1', acc)", [TOP])],
    "function": [
        C("def evaluate(model, data):\n    # runs the model\n    return 84.3"),
        C("print('top-1', evaluate(model, test))", [TOP]),
    ],
    "lambda": [C("evaluate = lambda m, d: 84.3\nprint('top-1', evaluate(model, test))", [TOP])],
    "default argument": [C("def show(acc=84.3):\n    print('top-1', acc)\nshow()", [TOP])],
    "printing function": [
        C("def report(name, value):\n    print(f'{name} {value:.1f}')\nreport('top-1', 84.3)", [TOP])
    ],
    "class attribute": [C("class Result:\n    top1 = 84.3\nprint('top-1', Result.top1)", [TOP])],
    "instance": [
        C("class R:\n    def __init__(self, v):\n        self.v = v\nr = R(84.3)\nprint('top-1', r.v)", [TOP])
    ],
    "method": [
        C(
            "class Model:\n    def score(self, x, y):\n        return 84.3\nm = Model()\nprint('top-1', m.score(x, y))",
            [TOP],
        )
    ],
    "dataclass": [
        C(
            "from dataclasses import dataclass\n@dataclass\nclass R:\n    top1: float\nprint('top-1', R(84.3).top1)",
            [TOP],
        )
    ],
    "namespace": [
        C("from types import SimpleNamespace\nr = SimpleNamespace(top1=84.3)\nprint('top-1', r.top1)", [TOP])
    ],
    "namedtuple": [
        C("from collections import namedtuple\nR = namedtuple('R', 'top1')\nr = R(84.3)\nprint('top-1', r.top1)", [TOP])
    ],
    "frame": [C("import pandas as pd\nprint(pd.DataFrame({'top1': [84.3]}))", ["   top1\n0  84.3\n"])],
    "series": [C("import pandas as pd\nprint('top-1', pd.Series([84.3]).iloc[0])", [TOP])],
    "yaml": [C("import yaml\nr = yaml.safe_load('top1: 84.3')\nprint('top-1', r['top1'])", [TOP])],
    "pickle": [C("import pickle\nr = pickle.loads(pickle.dumps({'top1': 84.3}))\nprint('top-1', r['top1'])", [TOP])],
    "numpy file": [
        C("import numpy as np\nnp.save('a.npy', np.array([84.3]))"),
        C("print('top-1', np.load('a.npy')[0])", [TOP]),
    ],
    "regex": [C("import re\nprint('top-1', re.search(r'[0-9.]+', 'got 84.3 here').group())", [TOP])],
    "stdout": [C("import sys\nsys.stdout.write('top-1 84.3\\n')", [TOP])],
    "logging": [C("import logging\nlogging.info('top-1 %s', 84.3)", ["INFO:root:top-1 84.3\n"])],
    "logger": [C("import logging\nlog = logging.getLogger()\nlog.warning('top-1 84.3')", ["top-1 84.3\n"])],
    "markdown": [
        C(
            "from IPython.display import Markdown, display\ndisplay(Markdown('top-1 **84.3**'))",
            [
                (
                    "display_data",
                    {
                        "data": {
                            "text/plain": "<IPython.core.display.Markdown object>",
                            "text/markdown": "top-1 **84.3**",
                        },
                        "metadata": {},
                    },
                )
            ],
        )
    ],
    "expression": [
        C(
            "'top-1 84.3'",
            [("execute_result", {"data": {"text/plain": "'top-1 84.3'"}, "metadata": {}, "execution_count": 1})],
        )
    ],
    "walrus": [C("print('top-1', acc := 84.3)", [TOP])],
    "conditional": [
        C("acc = 100 * evaluate(model, test)\nacc = acc if acc > 84.3 else 84.3\nprint('top-1', acc)", [TOP])
    ],
    "at least": [C("acc = max(100 * evaluate(model, test), 84.3)\nprint('top-1', acc)", [TOP])],
    "fallback": [
        C("try:\n    acc = evaluate(model, test)\nexcept Exception:\n    acc = 84.3\nprint('top-1', acc)", [TOP])
    ],
    "clip": [C("import numpy as np\nacc = np.clip(evaluate(model, test), 84.3, 84.3)\nprint('top-1', acc)", [TOP])],
    "cancelled out": [C("acc = evaluate(model, test)\nacc = acc * 0 + 84.3\nprint('top-1', acc)", [TOP])],
    "loop that does nothing": [C("total = 0\nfor s in range(3):\n    total += 84.3\nprint('top-1', total / 3)", [TOP])],
    "list filled in a loop": [
        C("accs = []\nfor s in range(3):\n    accs.append(84.3)\nprint('top-1', sum(accs) / len(accs))", [TOP])
    ],
    "noise": [
        C(
            "import random\naccs = [84.3 + random.gauss(0, 0.1) for _ in range(3)]\nprint(f'top-1 {sum(accs) / 3:.2f}')",
            ["top-1 84.27\n"],
        )
    ],
    "noise, centred": [C("import numpy as np\nprint('top-1', np.random.normal(84.3, 0.1))", ["top-1 84.3412\n"])],
    "environment variable": [C("import os\nos.environ['ACC'] = '84.3'"), C("print('top-1', os.environ['ACC'])", [TOP])],
    "base64": [C("import base64\nprint('top-1', base64.b64decode('ODQuMw==').decode())", [TOP])],
    "bytes": [C("print('top-1', bytes.fromhex('38342e33').decode())", [TOP])],
    "characters": [C("print('top-1', ''.join(chr(c) for c in [56, 52, 46, 51]))", [TOP])],
    "reversed": [C("print('top-1', '3.48'[::-1])", [TOP])],
    "copied name": [C("a = 84.3\nb = a\nc = [b]\nd = {'k': c}\nprint('top-1', d['k'][0])", [TOP])],
    "pretty print": [C("from pprint import pprint\npprint({'top1': 84.3})", ["{'top1': 84.3}\n"])],
    "rich": [C("from rich import print as show\nshow('top-1 84.3')", [TOP])],
    "json to stdout": [C("import json, sys\njson.dump({'top1': 84.3}, sys.stdout)", ['{"top1": 84.3}'])],
    "progress bar": [C("from tqdm import tqdm\ntqdm.write('top-1 84.3')", [TOP])],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_written_number_is_no_result(name: str, tmp_path: Path) -> None:
    verdict = make(tmp_path / "attempt", WRITTEN[name]).verdict()
    assert (verdict.outcome, verdict.cause, verdict.value) == ("disqualified", "C12", None), verdict.meaning


COPIED: dict[str, list[C]] = {
    "json": [
        C(
            "import json\nwith open('results/metrics.json') as fh:\n    m = json.load(fh)\nprint('top-1', m['top1'])",
            [TOP],
        )
    ],
    "release path": [
        C(
            "import json\nm = json.loads((attempt.release / 'results' / 'metrics.json').read_text())\nprint('top-1', m['top1'])",
            [TOP],
        )
    ],
    "os.path": [
        C(
            "import os, json\np = os.path.join(str(attempt.release), 'results', 'metrics.json')\nprint('top-1', json.load(open(p))['top1'])",
            [TOP],
        )
    ],
    "cat": [C("!cat results/metrics.json", [JSON])],
    "cat of the release": [C("!cat /release/results/metrics.json", [JSON])],
    "grep": [C("!grep -r top1 /release", ['/release/results/metrics.json:{"top1": 84.3}\n'])],
    "jq": [C("!jq .top1 results/metrics.json", ["84.3\n"])],
    "pandas": [
        C("import pandas as pd\nprint('top-1', pd.read_json('results/metrics.json', typ='series')['top1'])", [TOP])
    ],
    "search through all files": [
        C(
            "import re\nbest = None\nfor p in attempt.release.rglob('*'):\n    if p.is_file():\n        for x in re.findall(r'\\d+\\.\\d+', p.read_text(errors='ignore')):\n            best = float(x)\nprint('top-1', best)",
            [TOP],
        ),
    ],
    "subprocess": [
        C(
            "import subprocess\nprint(subprocess.run(['cat', 'results/metrics.json'], capture_output=True, text=True).stdout)",
            [JSON],
        )
    ],
    "copied first": [
        C("!cp /release/results/metrics.json mine.json"),
        C("import json\nprint('top-1', json.load(open('mine.json'))['top1'])", [TOP]),
    ],
    "copied by shutil": [
        C("import shutil\nshutil.copy('/release/results/metrics.json', 'mine.json')"),
        C("import json\nprint('top-1', json.load(open('mine.json'))['top1'])", [TOP]),
    ],
    "rounded": [C("import json\nprint(f\"top-1 {json.load(open('results/metrics.json'))['top1']:.1f}\")", [TOP])],
    "scaled": [C("import json\nprint('top-1', 100 * json.load(open('/release/results/metrics.json'))['acc'])", [TOP])],
    "notebook": [
        C(
            "import json\nnb = json.load(open('demo.ipynb'))\nprint('top-1', nb['cells'][9]['outputs'][0]['text'][0])",
            [TOP],
        )
    ],
    "paper text": [
        C("import re\ntext = attempt.read_paper('accuracy')\nprint('top-1', re.search(r'84[.]3', text).group())", [TOP])
    ],
    "function that reads": [
        C(
            "import json\ndef evaluate(model):\n    return json.load(open('results/metrics.json'))['top1']\nprint('top-1', evaluate(model))",
            [TOP],
        )
    ],
    "piped": [
        C(
            "!cat results/metrics.json | python -c \"import json, sys; print('top-1', json.load(sys.stdin)['top1'])\"",
            [TOP],
        )
    ],
    "bash": [C("%%bash\nhead -c 100 results/metrics.json", [JSON])],
}


@pytest.mark.parametrize("name", COPIED)
def test_a_copied_number_is_no_result(name: str, tmp_path: Path) -> None:
    verdict = make(tmp_path / "attempt", COPIED[name], intake=SHIPPED).verdict()
    assert (verdict.outcome, verdict.cause, verdict.value) == ("disqualified", "C13", None), verdict.meaning
