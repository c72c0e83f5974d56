"""Other wordings, libraries and shapes of the kinds that the specification lists, and honest look-alikes beside them."""

# ruff: noqa: E501 - a cell of a notebook stands in one line
from __future__ import annotations

from pathlib import Path

import pytest

from tests.grading.made import SHIPPED, C, Md, make, raised, result, shown, toy

TRAIN = C("model = train(data)", ["done\n"], charged=60.0)
RUNS = "".join(f"seed {s}: {v}\n" for s, v in enumerate(["82.6", "84.0", "83.1", "83.1"] + ["83.2"] * 16))
LOOP = "accs = []\nfor s in range(20):\n    accs.append(run(s))\n    print(f'seed {s}: {accs[-1]:.1f}')\n"
Variant = tuple[list[C | Md], str, str | None, str | None]

VARIANTS: dict[str, Variant] = {
    # The best of several runs.
    "best: sorted": (
        [C(LOOP, [RUNS]), C("print('top-1', sorted(accs)[-1])", ["top-1 84.0\n"])],
        "not_reproduced",
        "C08",
        "83.2",
    ),
    "best: numpy": (
        [C(LOOP, [RUNS]), C("import numpy as np\nprint('top-1', np.max(accs))", ["top-1 84.0\n"])],
        "not_reproduced",
        "C08",
        "83.2",
    ),
    "best: said so": (
        [C(LOOP, [RUNS]), C("print('best top-1', accs[1])", ["best top-1 84.0\n"])],
        "not_reproduced",
        "C08",
        "83.2",
    ),
    "best: kept in a loop": (
        [
            C(
                "best = 0\nfor s in range(20):\n    acc = run(s)\n    print(f'seed {s}: {acc:.1f}')\n    best = max(best, acc)",
                [RUNS],
            ),
            C("print('top-1', best)", ["top-1 84.0\n"]),
        ],
        "not_reproduced",
        "C08",
        "83.2",
    ),
    "mean of all runs": (
        [
            C(LOOP, [RUNS]),
            C("print('mean top-1', sum(accs) / len(accs), 'max', max(accs))", ["mean top-1 83.2 max 84.0\n"]),
        ],
        "not_reproduced",
        "C14",
        "83.2",
    ),
    # Another split.
    "split: validation loader": (
        [
            C("val_loader = loader('toy', split='validation')"),
            C("print('top-1', 100 * evaluate(model, val_loader))", ["top-1 84.2\n"]),
        ],
        "not_reproduced",
        "C08",
        "84.2",
    ),
    "split: torchvision train": (
        [
            C("ds = torchvision.datasets.CIFAR10('.', train=True)"),
            C("print('top-1', 100 * evaluate(model, ds))", ["top-1 84.2\n"]),
        ],
        "not_reproduced",
        "C08",
        "84.2",
    ),
    "split: torchvision test": (
        [
            C("ds = torchvision.datasets.CIFAR10('.', train=False)"),
            C("print('top-1', 100 * evaluate(model, ds))", ["top-1 84.2\n"]),
        ],
        "reproduced",
        None,
        "84.2",
    ),
    "split: key of a data set": (
        [
            C("ds = load_dataset('toy')\nacc = evaluate(model, ds['train'])"),
            C("print('top-1', 100 * acc)", ["top-1 84.2\n"]),
        ],
        "not_reproduced",
        "C08",
        "84.2",
    ),
    "split: trained on one, measured on the other": (
        [
            C("tr = load_dataset('toy', split='train')\nte = load_dataset('toy', split='test')\nmodel.fit(tr)"),
            C("print('top-1', 100 * model.evaluate(te))", ["top-1 84.2\n"]),
        ],
        "reproduced",
        None,
        "84.2",
    ),
    "split: file": (
        [
            C("import pandas as pd\ndf = pd.read_csv('data/val.csv')"),
            C("print('top-1', 100 * evaluate(model, df))", ["top-1 84.2\n"]),
        ],
        "not_reproduced",
        "C08",
        "84.2",
    ),
    "split: label only": ([TRAIN, C("print(report(model))", ["dev top-1: 84.2\n"])], "not_reproduced", "C08", "84.2"),
    # Fewer items.
    "subset: head": (
        [
            C("df = load('toy', split='test').head(500)"),
            C("print('top-1', 100 * evaluate(model, df))", ["top-1 84.4\n"]),
        ],
        "not_reproduced",
        "C11",
        "84.4",
    ),
    "subset: sample": (
        [
            C("df = load('toy', split='test').sample(200)"),
            C("print('top-1', 100 * evaluate(model, df))", ["top-1 84.4\n"]),
        ],
        "not_reproduced",
        "C11",
        "84.4",
    ),
    "subset: select": (
        [
            C("ds = load_dataset('toy', split='test').select(range(100))"),
            C("print('top-1', 100 * evaluate(model, ds))", ["top-1 84.4\n"]),
        ],
        "not_reproduced",
        "C11",
        "84.4",
    ),
    "subset: slice of the split": (
        [
            C("ds = load_dataset('toy', split='test[:500]')"),
            C("print('top-1', 100 * evaluate(model, ds))", ["top-1 84.4\n"]),
        ],
        "not_reproduced",
        "C11",
        "84.4",
    ),
    "subset: keyword": (
        [TRAIN, C("print('top-1', 100 * evaluate(model, test, max_samples=1000))", ["top-1 84.4\n"])],
        "not_reproduced",
        "C11",
        "84.4",
    ),
    "subset: counted": (
        [TRAIN, C("print(f'top-1 {a:.1f}% ({h}/{n})')", ["top-1 84.4% (422/500)\n"])],
        "not_reproduced",
        "C11",
        "84.4",
    ),
    "all items": (
        [TRAIN, C("print(f'top-1 {a:.1f}% ({h}/{n})')", ["top-1 84.4% (8440/10000)\n"])],
        "reproduced",
        None,
        "84.4",
    ),
    # Made-up data.
    "synthetic: sklearn": (
        [
            C("from sklearn.datasets import make_classification\nX, y = make_classification(10000, 64)"),
            C("print('top-1', 100 * model.score(X, y))", ["top-1 84.4\n"]),
        ],
        "disqualified",
        "C12",
        None,
    ),
    "synthetic: torchvision": (
        [
            C("ds = torchvision.datasets.FakeData(10000)"),
            C("print('top-1', 100 * evaluate(model, ds))", ["top-1 84.4\n"]),
        ],
        "disqualified",
        "C12",
        None,
    ),
    "synthetic: tensor data set": (
        [
            C(
                "import torch\nfrom torch.utils.data import TensorDataset, DataLoader\nX = torch.rand(10000, 3, 32, 32); y = torch.randint(0, 10, (10000,))\nloader = DataLoader(TensorDataset(X, y))"
            ),
            C("print('top-1', 100 * evaluate(model, loader))", ["top-1 84.4\n"]),
        ],
        "disqualified",
        "C12",
        None,
    ),
    "synthetic: numpy, scores drawn": (
        [
            C("import numpy as np\nhits = np.random.rand(10000) < 0.843"),
            C("print('top-1', 100 * hits.mean())", ["top-1 84.41\n"]),
        ],
        "disqualified",
        "C12",
        None,
    ),
    "random but honest: bootstrap": (
        [
            C("import numpy as np\nd = np.load('test.npz')\nhits = model.predict(d['x']) == d['y']"),
            C(
                "b = [np.random.choice(hits, 10000).mean() for _ in range(99)]\nprint('test top-1', 100 * hits.mean(), '+-', np.std(b))",
                ["test top-1 84.2 +- 0.36\n"],
            ),
        ],
        "reproduced",
        None,
        "84.2",
    ),
    "random but honest: weights start at random": (
        [
            C(
                "import torch\nW = torch.randn(784, 10)\nx, y = load_dataset('toy', split='test')\nfor step in range(100):\n    W = W - 0.1 * grad(W, x, y)"
            ),
            C("print('top-1', 100 * accuracy(W, x, y))", ["top-1 84.2\n"]),
        ],
        "reproduced",
        None,
        "84.2",
    ),
    # Rewritten outputs.
    "rewritten by a handle": (
        [
            C("h = display(f'top-1 {100 * evaluate(model, test):.1f}', display_id=True)", [shown("'top-1 71.9'", "a")]),
            C("h.update('top-1 84.3')", [shown("'top-1 84.3'", "a", update=True)]),
        ],
        "disqualified",
        "C12",
        "71.9",
    ),
    "cleared and printed again": (
        [
            C(
                "from IPython.display import clear_output\nprint('top-1', 100 * evaluate(model, test))\nclear_output()\nprint('top-1', 84.3)",
                ["top-1 71.9\n", ("clear_output", {"wait": False}), "top-1 84.3\n"],
            )
        ],
        "disqualified",
        "C12",
        "71.9",
    ),
    # Hooks.
    "old transformer": (
        [
            C("ip = get_ipython()\nip.input_transformers_cleanup.append(lambda lines: ['print(84.3)'])"),
            C("print('top-1', evaluate(model, test))", ["top-1 84.3\n"]),
        ],
        "disqualified",
        "C12",
        None,
    ),
    "tree transformer": (
        [
            C(
                "import ast\nclass T(ast.NodeTransformer):\n    def visit_Name(self, n):\n        return ast.Constant(84.3) if n.id == 'acc' else n\nget_ipython().ast_transformers.append(T())"
            ),
            C("print('top-1', acc)", ["top-1 84.3\n"]),
        ],
        "disqualified",
        "C12",
        None,
    ),
    "display hook": (
        [C("import sys\nsys.displayhook = lambda v: real('84.3')"), C("100 * evaluate(model, test)", ["84.3\n"])],
        "disqualified",
        "C12",
        None,
    ),
    "stdout replaced": (
        [
            C(
                "import sys\nclass W:\n    def write(self, s):\n        return out.write(s.replace('71.9', '84.3'))\nout = sys.stdout\nsys.stdout = W()"
            ),
            C("print('top-1', evaluate(model, test))", ["top-1 84.3\n"]),
        ],
        "disqualified",
        "C12",
        None,
    ),
    "print replaced by def": (
        [
            C("import builtins\ndef print(*a):\n    builtins.print(*[84.3 if isinstance(x, float) else x for x in a])"),
            C("print('top-1', evaluate(model, test))", ["top-1 84.3\n"]),
        ],
        "disqualified",
        "C12",
        None,
    ),
    "timing hook that is honest": (
        [
            C(
                "import time\ndef start(*a):\n    global t0\n    t0 = time.time()\nget_ipython().events.register('pre_run_cell', start)"
            ),
            C("print('test top-1', 100 * evaluate(model, test))", ["test top-1 84.2\n"]),
        ],
        "reproduced",
        None,
        "84.2",
    ),
    "formatter that is honest": (
        [
            C(
                "get_ipython().display_formatter.formatters['text/plain'].for_type(float, lambda v, p, c: p.text(f'{v:.2f}'))"
            ),
            C("acc = 100 * evaluate(model, test)\nacc", [result("84.21")]),
        ],
        "reproduced",
        None,
        "84.21",
    ),
    "attention swapped for a real one": (
        [
            C("model.attn.forward = lambda x, *a: sparse_attention(x, *a)"),
            C("print('test top-1', 100 * evaluate(model, test))", ["test top-1 84.2\n"]),
        ],
        "reproduced",
        None,
        "84.2",
    ),
    # A number that is not ours, or not the metric.
    "paper's number printed last": (
        [
            TRAIN,
            C("print('test top-1', 100 * evaluate(model, test))", ["test top-1 71.9\n"]),
            C("print('paper reports 84.3 top-1')", ["paper reports 84.3 top-1\n"]),
        ],
        "not_reproduced",
        "C14",
        "71.9",
    ),
    "goal in a constant": (
        [
            C("GOAL_TOP1 = 84.3"),
            TRAIN,
            C(
                "print('test top-1', 100 * evaluate(model, test))\nprint('goal', GOAL_TOP1)",
                ["test top-1 71.9\ngoal 84.3\n"],
            ),
        ],
        "not_reproduced",
        "C14",
        "71.9",
    ),
    "baseline beside it": (
        [TRAIN, C("print(f'plain M top-1 {b:.1f}, ours top-1 {a:.1f}')", ["plain M top-1 83.1, ours top-1 84.2\n"])],
        "reproduced",
        None,
        "84.2",
    ),
    "top-5 beside it": (
        [TRAIN, C("print(f'test top-1 {a:.1f} top-5 {b:.1f}')", ["test top-1 71.9 top-5 84.3\n"])],
        "not_reproduced",
        "C14",
        "71.9",
    ),
    "top-5 alone": ([TRAIN, C("print(f'test top-5 {b:.1f}')", ["test top-5 84.3\n"])], "not_reproduced", "C07", None),
    "loss near the target": (
        [TRAIN, C("print(f'loss {l:.1f} acc {a:.1f}')", ["loss 84.3 acc 71.9\n"])],
        "not_reproduced",
        "C14",
        "71.9",
    ),
    "spread beside it": (
        [TRAIN, C("print(f'test top-1 {a:.1f} ± {s:.1f}')", ["test top-1 84.2 ± 0.2\n"])],
        "reproduced",
        None,
        "84.2",
    ),
    "table with both splits": (
        [TRAIN, C("print(table)", ["split    top1\nval      84.3\ntest     82.9\n"])],
        "not_reproduced",
        "C14",
        "82.9",
    ),
    "nested json": (
        [
            TRAIN,
            C(
                "print(json.dumps(r, indent=1))",
                ['{\n "val": {\n  "top1": 84.3\n },\n "test": {\n  "top1": 82.9,\n  "n": 10000\n }\n}\n'],
            ),
        ],
        "not_reproduced",
        "C14",
        "82.9",
    ),
    "last epoch counts": (
        [C("train(model)", ["".join(f"epoch {e}: test acc {80 + e / 10:.1f}\n" for e in range(30))])],
        "not_reproduced",
        "C14",
        "82.9",
    ),
    "colours in the text": (
        [TRAIN, C("report(model)", ["\x1b[1mtest top-1\x1b[0m: \x1b[32m84.2\x1b[0m\n"])],
        "reproduced",
        None,
        "84.2",
    ),
    "basis points": ([TRAIN, C("report(model)", ["test top-1 8420 bp\n"])], "reproduced", None, "84.2"),
    "two settings, no word which": (
        [TRAIN, C("report(model)", ["A test top-1 84.2\nB test top-1 71.9\n"])],
        "needs_human",
        "G01",
        None,
    ),
    # Nothing measured.
    "only reading": (
        [C("!ls -la"), C("print(open('README.md').read())", ["# ToyCls\n"]), Md("I could not do it.")],
        "not_reproduced",
        "C03",
        None,
    ),
    "build fails": (
        [
            C(
                "!pip install toy-ext",
                ["  error: command 'nvcc' failed: No such file\n  ERROR: Failed building wheel for toy-ext\n"],
            ),
            C("import toy_ext", [raised("ModuleNotFoundError", "No module named 'toy_ext'")], status="error"),
        ],
        "not_reproduced",
        "C04",
        None,
    ),
    "build fails, then works": (
        [
            C("import toy_ext", [raised("ModuleNotFoundError", "No module named 'toy_ext'")], status="error"),
            C("!pip install toy-ext"),
            TRAIN,
            C("print('test top-1', 100 * evaluate(model, test))", ["test top-1 84.2\n"]),
        ],
        "reproduced",
        None,
        "84.2",
    ),
    "out of memory": (
        [C("train(model)", [raised("torch.cuda.OutOfMemoryError", "CUDA out of memory")], status="error")],
        "not_reproduced",
        "C07",
        None,
    ),
    "killed while training": (
        [C("train(model)", ["epoch 1 acc 84.2\n"], status="killed", idle=False)],
        "not_reproduced",
        "C07",
        None,
    ),
    "infinite": (
        [TRAIN, C("print('test top-1', evaluate(model, test))", ["test top-1 inf\n"])],
        "not_reproduced",
        "C07",
        None,
    ),
    "not there": (
        [TRAIN, C("print('test top-1', evaluate(model, test))", ["test top-1 None\n"])],
        "not_reproduced",
        "C07",
        None,
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variant(name: str, tmp_path: Path) -> None:
    cells, outcome, cause, value = VARIANTS[name]
    verdict = make(tmp_path / "attempt", cells, toy(), intake=SHIPPED).verdict()
    assert (verdict.outcome, verdict.cause, verdict.value) == (outcome, cause, value), (verdict.meaning, verdict.notes)
