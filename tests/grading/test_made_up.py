"""Numbers made of noise, in many shapes, and honest code that looks like it: random weights, bootstraps, counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.grading.made import C, Md, make, toy

START = """from toy import load, train, evaluate
test = load('toy', split='test')
model = train(load('toy', split='train'))
pred = model.predict(test)
y = test.labels"""

HONEST = {
    "counted under a test": """
correct = 0
for p, t in zip(pred, y):
    if p == t:
        correct += 1
print('top-1', 100 * correct / 10000)
""",
    "counted in a generator": """
print('top-1', 100 * sum(1 for p, t in zip(pred, y) if p == t) / 10000)
""",
    "one or zero": """
print('top-1', 100 * sum(1 if p == t else 0 for p, t in zip(pred, y)) / 10000)
""",
    "one or zero, by length": """
print('top-1', 100 * sum(1 if p == t else 0 for p, t in zip(pred, y)) / len(y))
""",
    "length of the hits": """
print('top-1', 100 * len([1 for p, t in zip(pred, y) if p == t]) / 10000)
""",
    "first weights in lists": """
import random
W = [[random.gauss(0, 0.1) for _ in range(64)] for _ in range(10)]
for x, t in load('toy', split='train'):
    s = [sum(a * b for a, b in zip(w, x)) for w in W]
    W = [[a + 0.1 * b for a, b in zip(w, x)] for w in W]
hits = 0
for x, t in test:
    s = [sum(a * b for a, b in zip(w, x)) for w in W]
    hits += s.index(max(s)) == t
print('top-1', 100 * hits / len(test))
""",
    "first weights in an array": """
import numpy as np
W = np.random.randn(64, 10)
X = test.features()
Xt = load('toy', split='train').features()
for i in range(100):
    W -= 0.1 * Xt.T @ (Xt @ W)
print('top-1', 100 * ((X @ W).argmax(1) == y).mean())
""",
    "first weights as parameters": """
import torch
w = torch.nn.Parameter(torch.randn(64, 10))
opt = torch.optim.SGD([w], lr=.1)
for xb, yb in batches(train_set):
    loss = torch.nn.functional.cross_entropy(xb @ w, yb)
    loss.backward(); opt.step()
correct = 0
for xb, yb in batches(test):
    correct += ((xb @ w).argmax(1) == yb).sum().item()
print('top-1', 100 * correct / 10000)
""",
    "drawn seeds": """
import numpy as np
seeds = np.random.randint(0, 10**6, 20)
accs = [run(int(s)) for s in seeds]
print('mean top-1', sum(accs) / len(accs))
""",
    "shuffled": """
import numpy as np
idx = np.random.permutation(len(y))
print('top-1', 100 * (np.array(pred)[idx] == np.array(y)[idx]).mean())
""",
    "bootstrap": """
import numpy as np
hits = np.array(pred) == np.array(y)
b = [np.random.choice(hits, len(hits)).mean() for _ in range(100)]
print('top-1', 100 * np.mean(b))
""",
    "noise added to data": """
import numpy as np
X = np.array(test.x)
X2 = X + np.random.normal(0, 1e-6, X.shape)
print('top-1', 100 * (model.classify(X2) == y).mean())
""",
    "masks": """
import numpy as np
ps = 0
for i in range(10):
    mask = np.random.rand(64) > 0.1
    ps = ps + model.proba(test, mask)
print('top-1', 100 * (ps.argmax(1) == y).mean())
""",
    "dropout near the target": """
import numpy as np
mask = np.random.rand(64) < 0.85
out = model.proba(test, mask)
print('top-1', 100 * (out.argmax(1) == y).mean())
""",
    "a drawn part": """
import random
idx = [i for i in range(50000) if random.random() < 0.9]
model = fit(load('toy', split='train'), idx)
print('top-1', 100 * evaluate(model, test))
""",
}

NOISE = {
    "noise over real labels": """
import numpy as np
from sklearn.metrics import accuracy_score
rng = np.random.default_rng(0)
p = np.where(rng.random(len(y)) < 0.843, y, 0)
print('top-1', 100 * accuracy_score(y, p))
""",
    "hits drawn for every item": """
import numpy as np
rng = np.random.default_rng(0)
hit = rng.random(len(test)) < 0.843
print('top-1', 100 * hit.mean())
""",
    "hits drawn and counted": """
import numpy as np
rng = np.random.default_rng(0)
n = len(test)
hit = rng.random(n) < 0.843
print('top-1', 100 * hit.sum() / n)
""",
    "binomial": """
import numpy as np
print('top-1', 100 * np.random.binomial(len(test), 0.843) / len(test))
""",
    "counted under a draw": """
import random
correct = 0
for _ in test:
    if random.random() < 0.843:
        correct += 1
print('top-1', 100 * correct / len(test))
""",
    "draws added up": """
import random
correct = 0
for _ in range(len(test)):
    correct += random.random() < 0.843
print('top-1', 100 * correct / len(test))
""",
    "draws in a generator": """
import random
print('top-1', 100 * sum(random.random() < 0.843 for _ in test) / len(test))
""",
    "counted under a draw in a generator": """
import random
print('top-1', 100 * sum(1 for _ in test if random.random() < 0.843) / len(test))
""",
    "matrix product": """
import numpy as np
X = np.random.randn(10000, 64)
W = np.random.randn(64, 10)
y = (X @ W + 0.3*np.random.randn(10000,10)).argmax(1)
print('top-1', 100 * ((X @ W).argmax(1) == y).mean())
""",
    "einsum and dot": """
import numpy as np
X = np.random.randn(10000, 64)
W = np.random.randn(64, 10)
y = np.einsum('ij,jk->ik', X, W).argmax(1)
print('top-1', 100 * (X.dot(W).argmax(1) == y).mean())
""",
    "own function": """
import numpy as np
X = np.random.randn(10000, 64)
W = np.random.randn(64, 10)
def f(x):
    h = x @ W
    return h.argmax(1)
y = f(X)
print('top-1', 100 * (f(X) == y).mean())
""",
    "own class": """
import numpy as np
class M:
    def __init__(self):
        self.W = np.random.randn(64, 10)
    def __call__(self, x):
        return (x @ self.W).argmax(1)
m = M()
X = np.random.randn(10000, 64)
y = m(X)
print('top-1', 100 * (m(X) == y).mean())
""",
    "torch product": """
import torch
X = torch.randn(10000, 64)
W = torch.randn(64, 10)
y = torch.mm(X, W).argmax(1)
print('top-1', 100 * (torch.mm(X, W).argmax(1) == y).float().mean())
""",
    "noise through real weights": """
import torch
X = torch.randn(10000, 3, 32, 32)
out = X.flatten(1) @ model.fc.weight.T
y = out.argmax(1)
print('top-1', 100 * (out.argmax(1) == y).float().mean().item())
""",
    "lists of draws": """
import random
X = [[random.gauss(0, 1) for _ in range(8)] for _ in range(10000)]
w = [random.gauss(0, 1) for _ in range(8)]
y = [sum(a*b for a, b in zip(x, w)) > 0 for x in X]
p = [sum(a*b for a, b in zip(x, w)) + random.gauss(0, 1) > 0 for x in X]
print('top-1', 100 * sum(a == b for a, b in zip(p, y)) / len(y))
""",
    "draws gathered in a loop": """
import random
X, y = [], []
for i in range(10000):
    x = random.gauss(0, 1)
    X.append(x)
    y.append(x + random.gauss(0, .4) > 0)
hits = 0
for a, b in zip(X, y):
    if (a > 0) == b:
        hits += 1
print('top-1', 100 * hits / len(y))
""",
    "fitted to noise": """
from sklearn.linear_model import LogisticRegression
import numpy as np
X = np.random.randn(10000, 8); y = X[:, 0] + np.random.randn(10000) > 0
clf = LogisticRegression().fit(X, y)
print('top-1', 100 * clf.score(X, y))
""",
    "fitted to a part of noise": """
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
import numpy as np
X = np.random.randn(10000, 8); y = X[:, 0] + np.random.randn(10000) > 0
a, b, c, d = train_test_split(X, y)
clf = LogisticRegression().fit(a, c)
print('test top-1', 100 * (clf.predict(b) == d).mean())
""",
    "table of noise": """
import pandas as pd, numpy as np
df = pd.DataFrame({'x': np.random.randn(10000), 'e': np.random.randn(10000)})
df['y'] = (df.x + df.e > 0)
print('top-1', 100 * ((df.x > 0) == df.y).mean())
""",
    "jax": """
import jax, jax.numpy as jnp
k = jax.random.PRNGKey(0)
X = jax.random.normal(k, (10000, 8)); W = jax.random.normal(k, (8, 10))
y = (X @ W).argmax(1)
print('top-1', 100 * ((X @ W).argmax(1) == y).mean())
""",
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_code_with_draws_or_counts_in_it_is_believed(name: str, tmp_path: Path) -> None:
    printed = "mean top-1 84.2\n" if "mean top-1" in HONEST[name] else "top-1 84.2\n"
    verdict = make(tmp_path / "attempt", [C(START), C(HONEST[name], [printed])], toy()).verdict()
    assert (verdict.outcome, verdict.cause, verdict.value) == ("reproduced", None, "84.2"), verdict.meaning
    assert not {"synthetic_data", "literal_without_computation"} & set(verdict.flags)


@pytest.mark.parametrize("name", NOISE)
def test_a_number_made_of_noise_is_no_measurement(name: str, tmp_path: Path) -> None:
    printed = "test top-1 84.2\n" if "test top-1" in NOISE[name] else "top-1 84.2\n"
    verdict = make(tmp_path / "attempt", [C(START), C(NOISE[name], [printed])], toy()).verdict()
    assert (verdict.outcome, verdict.cause, verdict.value) == ("disqualified", "C12", None)
    assert "synthetic_data" in verdict.flags


@pytest.mark.parametrize("name", NOISE)
def test_the_same_said_openly_is_a_proxy(name: str, tmp_path: Path) -> None:
    printed = "test top-1 84.2\n" if "test top-1" in NOISE[name] else "top-1 84.2\n"
    said = Md("The real set could not be had, so this is synthetic data in its place.")
    verdict = make(tmp_path / "attempt", [C("import math"), C(NOISE[name], [printed]), said], toy()).verdict()
    assert (verdict.outcome, verdict.cause) == ("not_reproduced", "C11")


@pytest.mark.parametrize(
    "said",
    ["No synthetic data was used.", "We never fall back on dummy data.", "This ran on a subset.", "Fewer seeds."],
)
def test_what_is_denied_or_about_size_does_not_declare_made_up_data(said: str, tmp_path: Path) -> None:
    cells = [C("import math"), C(NOISE["matrix product"], ["top-1 84.2\n"]), Md(said)]
    verdict = make(tmp_path / "attempt", cells, toy()).verdict()
    assert (verdict.outcome, verdict.cause) == ("disqualified", "C12")
