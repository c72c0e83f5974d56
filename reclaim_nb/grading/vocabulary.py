"""Words by which results are named: metrics and their synonyms, splits, statistics, and words that say "not ours".

What a card's metric may be called is the card's own ``words`` plus the synonyms of the family it belongs to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from reclaim_nb.grading.scan import Interest
from reclaim_nb.grading.words import words
from reclaim_nb.papers.card import PaperCard

_FAMILIES: dict[str, str] = {
    "accuracy": "accuracy|acc|top1|top5",
    "error": "error rate|err|error|misclassification",
    "auc": "auc|auroc|roc auc|rocauc|aucroc|area under the roc curve|area under curve",
    "auprc": "auprc|average precision|ap|pr auc|aupr",
    "map": "map|mean average precision",
    "f1": "f1|f1score|fscore|fmeasure",
    "precision": "precision",
    "recall": "recall|sensitivity",
    "nll": "nll|negative log likelihood|neg log likelihood|log score|negloglik|neg loglik",
    "loss": "loss|cross entropy|xent|ce|bpc|bpb|bits per byte|bits per character|bits per dim|bits per token",
    "perplexity": "perplexity|ppl",
    "mse": "mse|mean squared error|mean square error",
    "rmse": "rmse|root mean squared error|root mean square error",
    "mae": "mae|mean absolute error",
    "r2": "r2|rsquared|r squared|coefficient of determination",
    "bleu": "bleu|sacrebleu",
    "rouge": "rouge|rougel|rouge1|rouge2",
    "kappa": "kappa|cohens kappa|cohen kappa",
    "ari": "ari|adjusted rand|adjusted rand index",
    "nmi": "nmi|normalized mutual information|normalised mutual information",
    "iou": "iou|miou|jaccard",
    "psnr": "psnr",
    "ssim": "ssim",
    "fid": "fid",
    "speedup": "speedup|speed up|speed|faster|times faster|acceleration",
    "throughput": "throughput|tokens per second|images per second|it per s",
    "latency": "latency|runtime|wall time|elapsed|duration|seconds",
    "reward": "reward|regret",
    "memory": "memory|peak memory",
    "parameters": "parameters|params",
}
FAMILIES: dict[str, tuple[tuple[str, ...], ...]] = {
    name: tuple(tuple(phrase.split()) for phrase in text.split("|")) for name, text in _FAMILIES.items()
}

SPLITS: dict[str, str] = {
    "train": "train",
    "training": "train",
    "trn": "train",
    "trainset": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "valset": "val",
    "devset": "val",
    "test": "test",
    "testing": "test",
    "testset": "test",
    "heldout": "test",
    "tst": "test",
}

REFERENCE = words(
    """
    paper papers reported published target expected expect claimed claim claims reference ref theirs
    original originally goal authors author literature sota printed nominal article publication stated
    aim wanted pinned documented quoted cited
    """
)
"""Words that mark a number as somebody else's, or as what was hoped for."""

BOUND = words(
    """
    bound bounds limit tolerance tol atol rtol threshold thresholds criterion criteria within band interval
    range allowed guarantee guaranteed guarantees required requirement needs cutoff lower upper ci margin slack
    least most between budget
    """
)
"""Words that mark a number as the edge of something."""

GAP = words(
    """
    gap diff difference differences delta deviation distance minus improvement gain off offset residual
    discrepancy change drop increase decrease relative abs_diff excess shift
    """
)
"""Words that mark a number as a difference of two results."""

SPREAD = words(
    """
    std sd stddev stdev sem se stderr variance var spread iqr halfwidth
    """
)

STATISTICS: dict[str, str] = {
    "mean": "mean",
    "average": "mean",
    "avg": "mean",
    "averaged": "mean",
    "median": "median",
    "max": "max",
    "maximum": "max",
    "best": "max",
    "highest": "max",
    "min": "min",
    "lowest": "min",
    "worst": "min",
}

OURS = words(
    """
    ours our measured obtained achieved reproduced we got mine observed actual computed result results
    reproduction replication replicated my
    """
)

PROGRESS = words(
    """
    epoch ep epochs step steps iter iters iteration iterations batch it eta round update
    """
)
FINAL = frozenset(["final", "finally", "overall", "result", "results", "total", "summary"])

QUALIFIERS = words(
    """
    n epoch ep epochs step steps iter iters iteration seed fold trial run split k batch bs lr layer depth dim
    width rank alpha beta beta1 beta2 sigma gamma lambda t table figure fig section eq round size cell gpu rate
    version momentum decay eta trees estimators num samples nsamples ntest items images examples rows count
    total device rep repeat index idx id class arm shard chunk page line port pid temperature
    """
)
"""Keys whose number sets the scene instead of being a result."""

COUNT_KEYS = words(
    """
    n ntest nsamples nexamples nitems nimages numsamples numexamples numtest nteval total count support samples
    items images examples rows points
    """
)

NOUNS = words(
    """
    epochs epoch steps step iterations iters seeds seed runs run splits split trees samples sample items item
    images image examples example rows row points point folds fold layers layer parameters params seconds second
    secs sec s ms minutes min mins hours h gb mb kb gib mib tokens token batches batch workers cores threads
    times trials arms restarts starts repeats replicas classes features dims bits
    """
)
"""Nouns that follow a number which sets the scene."""
ITEM_NOUNS = words(
    """
    samples sample items item images image examples example rows row points point
    """
)

_GENERIC = words(
    """
    tensor array float float64 float32 np int is are was the a an of on at in for to by with and over after from as it
    its this that score value metric percent pct s x y per all set data dataset final finally overall result results
    model accuracy_score info debug print output total summary now current last new approx about around roughly nearly
    exactly
    """
)
"""Words that say nothing about which quantity a number is."""

_MERGE = (
    (re.compile(r"\b(?:top|acc|accuracy|hits|hit)\s*[-_@ ]?\s*@?\s*([15])\b(?!\s*[.,]?\d)"), r"top\1"),
    (re.compile(r"\bf[-_ ]?1(?:[-_ ]?score)?\b"), "f1"),
    (re.compile(r"\bf[-_ ]score\b"), "fscore"),
    (re.compile(r"\br\s?(?:\^|\*\*)?\s?2\b|\br²"), "r2"),
    (re.compile(r"\bheld[-_ ]out\b"), "heldout"),
    (re.compile(r"\bspeed[-_ ]?up\b"), "speedup"),
    (re.compile(r"\bloss?\b"), "loss"),
    (re.compile(r"cohen(?:['’]s)?"), "cohen"),
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TOKEN = re.compile(r"[a-z][a-z0-9]*|[α-ωε∆δ]", re.UNICODE)
_STOP = words(
    """
    the of a an on in at for to and over with after between by from as under label matching set all great
    """
)


@lru_cache(maxsize=20000)
def tokens(text: str) -> tuple[str, ...]:
    """Split a label into lower-case words: ``topAcc@1`` and ``top-1 acc`` both hold ``top1``."""
    low = _CAMEL.sub(" ", text).lower().replace("_", " ")
    for pattern, replacement in _MERGE:
        low = pattern.sub(replacement, low)
    return tuple(_TOKEN.findall(low))


def contains(words: tuple[str, ...] | frozenset[str], phrase: tuple[str, ...]) -> bool:
    """Tell whether all words of a phrase are there."""
    if isinstance(words, frozenset):
        return words.issuperset(phrase)
    return all(part in words for part in phrase)


def split_of(text: str) -> str | None:
    """Return the split that a text names, None where it names none or two."""
    found = {SPLITS[word] for word in tokens(text) if word in SPLITS}
    return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class TargetWords:
    """How one target may be named.

    Attributes:
        phrases: the metric's own names: all words of one must stand in a label.
        transformed: (phrases, position of the card's transform) for quantities that a declared transform accepts.
        families: families of metrics it belongs to.
        split: the split the card asks for.
        top_k: 1 for top-1 and so on, None where the metric has none.
        average: ``macro``, ``micro`` or ``weighted`` where the card says so.
        rivals: words of the baseline and of siblings, which are not the target.
    """

    phrases: tuple[tuple[str, ...], ...]
    transformed: tuple[tuple[tuple[str, ...], int], ...]
    families: frozenset[str]
    split: str | None
    top_k: int | None
    average: str | None
    rivals: tuple[tuple[str, ...], ...]
    _known: dict[tuple[str, tuple[str, ...]], int | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def names(self, words: tuple[str, ...]) -> int:
        """Return how well words name the target: 2 fully, 1 in part, 0 not."""
        key = ("names", words)
        if key not in self._known:
            have = _with_singulars(words)
            self._known[key] = 2 if any(contains(have, phrase) for phrase in self.phrases) else 0
        return self._known[key] or 0

    def transform(self, words: tuple[str, ...]) -> int | None:
        """Return the position of the declared transform that accepts a quantity of that name."""
        key = ("transform", words)
        if key not in self._known:
            have = _with_singulars(words)
            self._known[key] = next((place for phrase, place in self.transformed if contains(have, phrase)), None)
        return self._known[key]

    def other(self, words: tuple[str, ...]) -> bool:
        """Tell whether words name a metric of another family and not the target."""
        return bool(families_of(words)) and not self.names(words) and self.transform(words) is None

    def rival(self, words: tuple[str, ...]) -> bool:
        """Tell whether words name the baseline or a sibling of the target."""
        have = frozenset(words)
        return any(contains(have, phrase) for phrase in self.rivals)


def _with_singulars(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(words) | {word[:-1] for word in words if word.endswith("s") and len(word) > 3}


@lru_cache(maxsize=20000)
def families_of(words: tuple[str, ...]) -> frozenset[str]:
    """Return the families of metrics that words name."""
    have = _with_singulars(words)
    return frozenset(name for name, phrases in FAMILIES.items() if any(contains(have, phrase) for phrase in phrases))


def _content(text: str) -> tuple[str, ...]:
    words = [word for word in tokens(text) if word not in _STOP and word not in SPLITS and word not in STATISTICS]
    return tuple(word for word in words if word not in FINAL) or tuple(words)


def target_words(card: PaperCard) -> TargetWords:
    """Return how a card's target may be named."""
    target = card.target
    phrases = {phrase for text in (target.metric, *target.words) if (phrase := _content(text))}
    own = [tokens(text) for text in (target.metric, *target.words)]
    families = {name for words in own for name in families_of(words)} if own else set()
    # "absolute error of epsilon" is no error rate: a family counts only where the card's name is little more than it.
    families = {name for name in families if any(_is_family(words, name) for words in own)}
    for name in families:
        phrases.update(FAMILIES[name])
    text = " ".join((target.metric, *target.words)).lower()
    top_k = next((k for k in (1, 5) if f"top{k}" in {w for words in own for w in words}), None)
    if "accuracy" in families:
        phrases = {phrase for phrase in phrases if phrase != (f"top{5 if top_k != 5 else 1}",)}
    average = getattr(target, "average", None) or next((a for a in ("macro", "micro", "weighted") if a in text), None)
    transformed = []
    for place, transform in enumerate(target.transforms):
        for word in transform.words:
            if phrase := tuple(tokens(word)):
                transformed.append((phrase, place))
                for name in families_of(phrase):
                    if _is_family(phrase, name):
                        transformed.extend((other, place) for other in FAMILIES[name])
    transformed = [item for item in transformed if item[0] not in phrases]
    taken = {word for words in own for word in words} | set(tokens(card.title))
    rivals = []
    names = [target.baseline.name] if target.baseline else []
    for name in [*names, *(sibling.what for sibling in target.siblings)]:
        phrase = tuple(word for word in tokens(name.split("(")[0]) if word not in _STOP)
        if phrase and not set(phrase) <= taken:
            rivals.append(phrase)
    split = split_of(target.split) if target.split else None
    return TargetWords(
        tuple(sorted(phrases)),
        tuple(dict.fromkeys(transformed)),
        frozenset(families),
        split,
        top_k,
        average,
        tuple(rivals),
    )


def _is_family(words: tuple[str, ...], name: str) -> bool:
    content = [word for word in words if word not in _STOP and word not in SPLITS and word not in STATISTICS]
    return any(contains(tuple(content), phrase) and len(content) <= len(phrase) + 1 for phrase in FAMILIES[name])


def interest_of(card: PaperCard, digits: tuple[str, ...] = ()) -> Interest:
    """Return which lines of a flood deserve a close look for one card."""
    words = target_words(card)
    wanted = {phrase[0] if len(phrase) == 1 else max(phrase, key=len) for phrase in words.phrases}
    wanted |= {max(phrase, key=len) for phrase, _ in words.transformed}
    wanted |= {"final", "result", "reclaim", "metric"}
    if {"top1", "top5"} & wanted:
        wanted |= {"top-1", "top-5", "top 1", "top_1", "acc@1", "hit@1"}
    if "speedup" in wanted:
        wanted |= {"speed-up", "speed up"}
    return Interest({word for word in wanted if len(word) > 1}, digits)


_VERBS = words(
    """
    evaluate eval compute run measure get calc calculate main train predict mean forward
    test fit experiment estimate
    """
)


def says_nothing(word: str) -> bool:
    """Tell whether a name in the source says nothing about which quantity it holds."""
    return is_generic(word) or word in _VERBS or word in SPLITS


def is_generic(word: str) -> bool:
    """Tell whether a word says nothing about which quantity a number is."""
    return word in _GENERIC or word in STATISTICS or word in OURS or word in FINAL or len(word) == 1
