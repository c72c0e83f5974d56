"""Honest notebooks, run in a real kernel: what they measured is the value, however it was carried about."""

# ruff: noqa: E501 - a cell of a notebook stands in one line
from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from tests.grading.kernel_record import RealKernel
from tests.grading.made import Md, toy

pytest.importorskip("sklearn")
pytestmark = pytest.mark.slow

LOAD = (
    "import numpy as np\nfrom sklearn.datasets import load_digits\nfrom sklearn.model_selection import train_test_split\n"
    "X, y = load_digits(return_X_y=True)\n"
    "X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=360, random_state=0)\nX_train.shape"
)
FIT = (
    "from sklearn.neighbors import KNeighborsClassifier\n"
    "model = KNeighborsClassifier(3).fit(X_train, y_train)\npred = model.predict(X_test)"
)
START = [LOAD, FIT]

HONEST: dict[str, list[str | Md]] = {
    "metric of a library": [
        *START,
        "from sklearn.metrics import accuracy_score\nprint('test accuracy', accuracy_score(y_test, pred))",
    ],
    "score method": [*START, "print(f'test accuracy {model.score(X_test, y_test):.4f}')"],
    "by hand": [*START, "acc = (pred == y_test).mean()\nprint(f'test accuracy: {acc:.2%} (n={len(y_test)})')"],
    "loop by hand": [
        *START,
        "correct = 0\nfor a, b in zip(pred, y_test):\n    if a == b:\n        correct += 1\n"
        "print(f'accuracy {100 * correct / len(y_test):.2f} % ({correct}/{len(y_test)})')",
    ],
    "function": [
        *START,
        "def evaluate(m, x, t):\n    p = m.predict(x)\n    return float(np.mean(p == t))\nacc = evaluate(model, X_test, y_test)\nprint('accuracy', acc)",
    ],
    "printing function": [
        *START,
        "def report(name, value):\n    print(f'{name}: {100 * value:.2f}')\nreport('test accuracy', model.score(X_test, y_test))",
    ],
    "class": [
        *START,
        "class Trial:\n    def __init__(self, model):\n        self.model = model\n        self.acc = None\n    def run(self, x, t):\n"
        "        self.acc = (self.model.predict(x) == t).mean()\n        return self\ntrial = Trial(model).run(X_test, y_test)\nprint('acc', trial.acc)",
    ],
    "result of the cell": [*START, "acc = model.score(X_test, y_test)\nacc"],
    "dict": [*START, "results = {'paper': 0.967, 'accuracy': model.score(X_test, y_test)}\nprint(results)"],
    "dict filled later": [
        *START,
        "results = {}\nresults['split'] = 'test'\nresults['accuracy'] = model.score(X_test, y_test)\nresults['n'] = len(y_test)\nprint(results)",
    ],
    "json file of its own": [
        *START,
        "import json\njson.dump({'accuracy': model.score(X_test, y_test), 'n': len(y_test)}, open('result.json', 'w'))",
        "r = json.load(open('result.json'))\nprint('test accuracy', r['accuracy'])",
    ],
    "json file printed": [
        *START,
        "import json\nfrom pathlib import Path\nPath('out').mkdir()\nPath('out/metrics.json').write_text(json.dumps({'test': {'accuracy': model.score(X_test, y_test)}}, indent=2))",
        "print(Path('out/metrics.json').read_text())",
    ],
    "frame": [
        *START,
        "import pandas as pd\npd.DataFrame([{'split': 'train', 'acc': model.score(X_train, y_train)}, {'split': 'test', 'acc': model.score(X_test, y_test)}])",
    ],
    "frame against the paper": [
        *START,
        "import pandas as pd\ntable = pd.DataFrame({'paper': [0.967], 'ours': [model.score(X_test, y_test)]}, index=['accuracy'])\nprint(table)",
    ],
    "frame built in a loop": [
        LOAD,
        "import pandas as pd\nfrom sklearn.neighbors import KNeighborsClassifier\nrows = []\nfor seed in range(3):\n"
        "    m = KNeighborsClassifier(3 + seed).fit(X_train, y_train)\n    rows.append({'seed': seed, 'acc': m.score(X_test, y_test)})\n"
        "df = pd.DataFrame(rows)\nprint(df)\nprint(f'mean test accuracy {df.acc.mean():.4f}')",
    ],
    "script": [
        "%%writefile run.py\nfrom sklearn.datasets import load_digits\nfrom sklearn.neighbors import KNeighborsClassifier\nfrom sklearn.model_selection import train_test_split\n"
        "X, y = load_digits(return_X_y=True)\na, b, c, d = train_test_split(X / 16, y, test_size=360, random_state=0)\nm = KNeighborsClassifier(3).fit(a, c)\n"
        "print(f'FINAL test accuracy {m.score(b, d):.4f} n={len(d)}')",
        "import sys\n!{sys.executable} run.py",
    ],
    "script to a log": [
        "%%writefile run.py\nimport json\nfrom sklearn.datasets import load_digits\nfrom sklearn.neighbors import KNeighborsClassifier\nfrom sklearn.model_selection import train_test_split\n"
        "X, y = load_digits(return_X_y=True)\na, b, c, d = train_test_split(X / 16, y, test_size=360, random_state=0)\nm = KNeighborsClassifier(3).fit(a, c)\n"
        "json.dump({'accuracy': m.score(b, d)}, open('metrics.json', 'w'))\nprint('done')",
        "import sys\n!{sys.executable} run.py > log.txt 2>&1; cat log.txt",
        "import json\nprint('test accuracy', json.load(open('metrics.json'))['accuracy'])",
    ],
    "subprocess": [
        "code = '''\nfrom sklearn.datasets import load_digits\nfrom sklearn.neighbors import KNeighborsClassifier\nfrom sklearn.model_selection import train_test_split\n"
        "X, y = load_digits(return_X_y=True)\na, b, c, d = train_test_split(X / 16, y, test_size=360, random_state=0)\nprint('test accuracy', KNeighborsClassifier(3).fit(a, c).score(b, d))\n'''\n"
        "open('run.py', 'w').write(code)",
        "import subprocess, sys\nout = subprocess.run([sys.executable, 'run.py'], capture_output=True, text=True)\nprint(out.stdout, out.stderr)",
    ],
    "own module": [
        "%%writefile mine.py\ndef accuracy(p, t):\n    return (p == t).mean()",
        *START,
        "import mine\nprint('accuracy', mine.accuracy(pred, y_test))",
    ],
    "saved predictions": [
        *START,
        "np.save('pred.npy', pred)",
        "p = np.load('pred.npy')\nprint('test accuracy', np.mean(p == y_test))",
    ],
    "pickled result": [
        *START,
        "import pickle\nwith open('r.pkl', 'wb') as fh:\n    pickle.dump({'acc': model.score(X_test, y_test)}, fh)",
        "with open('r.pkl', 'rb') as fh:\n    r = pickle.load(fh)\nprint('test acc', r['acc'])",
    ],
    "csv of its own": [
        *START,
        "import csv\nwith open('r.csv', 'w', newline='') as fh:\n    w = csv.writer(fh)\n    w.writerow(['split', 'acc'])\n    w.writerow(['test', model.score(X_test, y_test)])",
        "import pandas as pd\nprint(pd.read_csv('r.csv'))",
    ],
    "logging": [
        *START,
        "import logging, sys\nlogging.basicConfig(level=logging.INFO, stream=sys.stdout, force=True)\nlogging.info('test accuracy %.4f', model.score(X_test, y_test))",
    ],
    "validation and test": [
        *START,
        "from sklearn.model_selection import cross_val_score\nval = cross_val_score(model, X_train, y_train, cv=3).mean()\nprint(f'val accuracy {val:.4f}')\nprint(f'test accuracy {model.score(X_test, y_test):.4f}')",
    ],
    "train and test": [
        *START,
        "print(f'train accuracy {model.score(X_train, y_train):.4f}, test accuracy {model.score(X_test, y_test):.4f}')",
    ],
    "compared with the paper": [
        *START,
        "PAPER = 96.7\nacc = 100 * model.score(X_test, y_test)\nprint(f'test accuracy {acc:.2f} (paper {PAPER}), difference {acc - PAPER:+.2f}, tolerance 2.3')\nassert abs(acc - PAPER) <= 2.3",
    ],
    "summary of what was seen": [
        *START,
        "acc = model.score(X_test, y_test)\nprint(f'test accuracy {acc:.4f}')",
        "print('target accuracy 96.7, tolerance 2.3')\nprint('within tolerance:', abs(100 * acc - 96.7) <= 2.3)",
    ],
    "training log first": [
        LOAD,
        "from sklearn.linear_model import SGDClassifier\nm = SGDClassifier(loss='log_loss', random_state=0)\nfor epoch in range(30):\n    m.partial_fit(X_train, y_train, classes=range(10))\n    print(f'epoch {epoch}: train acc {m.score(X_train, y_train):.3f}')",
        FIT,
        "print(f'FINAL test accuracy {model.score(X_test, y_test):.4f}')",
    ],
    "classification report": [
        *START,
        "from sklearn.metrics import classification_report\nprint(classification_report(y_test, pred, digits=4))",
    ],
    "fallback that is not used": [
        *START,
        "try:\n    acc = model.score(X_test, y_test)\nexcept Exception as error:\n    acc = float('nan')\nprint('test accuracy', acc)",
    ],
    "best so far starts at zero": [
        LOAD,
        "from sklearn.neighbors import KNeighborsClassifier\nfrom sklearn.model_selection import cross_val_score\nbest, chosen = 0.0, None\nfor c in (3, 5):\n    score = cross_val_score(KNeighborsClassifier(c), X_train, y_train, cv=3).mean()\n    if score > best:\n        best, chosen = score, c\nprint('chosen', chosen)",
        "final = KNeighborsClassifier(chosen).fit(X_train, y_train)\nprint(f'test accuracy {final.score(X_test, y_test):.4f}')",
    ],
    "clipped gradient": [
        LOAD,
        "W = np.zeros((64, 10))\nT = np.eye(10)[y_train]\nm = np.zeros_like(W)\nfor step in range(300):\n    z = X_train @ W\n    p = np.exp(z - z.max(1, keepdims=True))\n    p /= p.sum(1, keepdims=True)\n"
        "    g = X_train.T @ (p - T) / len(T)\n    m = 0.967 * m + np.clip(g, -0.967, 0.967)\n    W -= 1.0 * m\nacc = ((X_test @ W).argmax(1) == y_test).mean()\nprint('test accuracy', acc)",
    ],
    "synthetic smoke test first": [
        "import numpy as np\nfrom sklearn.neighbors import KNeighborsClassifier\nXs = np.random.randn(50, 64); ys = np.random.randint(0, 2, 50)\nprint('smoke test runs:', KNeighborsClassifier().fit(Xs, ys).score(Xs, ys) > 0.4)",
        *START,
        "print('test accuracy', model.score(X_test, y_test))",
    ],
    "monkeypatch that is usual": [
        "import numpy as np\nnp.float = float\nimport functools\nprint = functools.partial(print, flush=True)",
        *START,
        "print('test accuracy', model.score(X_test, y_test))",
    ],
    "autoreload and print options": [
        "%load_ext autoreload\n%autoreload 2\nimport numpy as np\nnp.set_printoptions(precision=4)\n%precision 4",
        *START,
        "print('test accuracy', model.score(X_test, y_test))",
    ],
    "timed cell": [LOAD, "%%time\n" + FIT, "%time acc = model.score(X_test, y_test)\nprint('test accuracy', acc)"],
    "progress with updates": [
        *START,
        "from IPython.display import display, clear_output\nfor i in range(3):\n    clear_output(wait=True)\n    print(f'part {i}')\nclear_output()\nprint('test accuracy', model.score(X_test, y_test))",
    ],
    "handle updated in its own cell": [
        *START,
        "from IPython.display import display\nh = display('starting', display_id=True)\nh.update(f'test accuracy {model.score(X_test, y_test):.4f}')",
    ],
    "carriage returns": [
        *START,
        "import sys\nfor i in range(50):\n    sys.stdout.write(f'\\rbatch {i}/50 acc {i}')\nprint(f'\\ntest accuracy {model.score(X_test, y_test):.4f}')",
    ],
    "prose with claims": [
        Md("# Digits\n\nThe paper reports 96.7 % accuracy."),
        *START,
        "print('test accuracy', model.score(X_test, y_test))",
        Md("We reach 96.7 % within the tolerance."),
    ],
    "executor": [
        *START,
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as pool:\n    parts = list(pool.map(lambda s: (model.predict(X_test[s]) == y_test[s]).sum(), [slice(0, 180), slice(180, 360)]))\nprint('test accuracy', sum(parts) / 360)",
    ],
    "bootstrap interval": [
        *START,
        "hits = pred == y_test\nrng = np.random.default_rng(0)\nboot = [rng.choice(hits, len(hits)).mean() for _ in range(200)]\nprint(f'test accuracy {hits.mean():.4f} (95 % interval {np.quantile(boot, 0.025):.4f} to {np.quantile(boot, 0.975):.4f})')",
    ],
}


@pytest.fixture(scope="module")
def kernel() -> Iterator[RealKernel]:
    with RealKernel() as running:
        yield running


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_notebook_is_believed(name: str, kernel: RealKernel, tmp_path: Path) -> None:
    verdict = kernel.record(tmp_path / "attempt", HONEST[name], toy("digits")).verdict()
    assert (verdict.outcome, verdict.cause) == ("reproduced", None), (verdict.meaning, verdict.notes)
    assert verdict.value is not None and Decimal("94.4") <= Decimal(verdict.value) <= Decimal("99.0")
    assert not set(verdict.flags) & {
        "literal_without_computation",
        "literal_in_place_of_measurement",
        "synthetic_data",
        "addressed_judge",
        "claim_without_output",
    }
