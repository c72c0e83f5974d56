"""MaxUCB on the five-arm toy problem: simulate the policy and count the pulls of every arm."""

import argparse

import numpy as np

# (shape a, scale s) of each arm: a power-distributed reward with exponent a, divided by s ** a.
ARMS = [(3, 1.01), (4, 1.01), (5, 1.01), (5, 1.1), (4, 1.0)]


def draw_rewards(rng, runs, pulls):
    """Return rewards, shape (runs, arms, pulls), each between 0 and its arm's ceiling scale ** -shape."""
    rewards = np.empty((runs, len(ARMS), pulls))
    for arm, (shape, scale) in enumerate(ARMS):
        rewards[:, arm] = rng.power(shape, size=(runs, pulls)) / scale**shape
    return rewards


def play(seed, runs=1000, pulls=1000, alpha=0.5):
    """Play `runs` independent games and return how often each arm was pulled, shape (runs, arms)."""
    rng = np.random.default_rng(seed)
    game = np.arange(runs)
    best = draw_rewards(rng, runs, 1)[:, :, 0]
    count = np.ones((runs, len(ARMS)), dtype=int)
    shapes = np.array([shape for shape, _ in ARMS], dtype=float)
    ceilings = np.array([scale**-shape for shape, scale in ARMS])
    for t in range(len(ARMS), pulls):
        index = best / best.max(1, keepdims=True) + (alpha * np.log(t) / count) ** 2
        arm = index.argmax(1)
        reward = rng.power(shapes[arm]) * ceilings[arm]
        best[game, arm] = np.maximum(best[game, arm], reward)
        count[game, arm] += 1
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--pulls", type=int, default=1000)
    options = parser.parse_args()
    count = play(options.seed, options.runs, options.pulls)
    for arm, (shape, scale) in enumerate(ARMS):
        print(f"arm {arm} (shape {shape}, scale {scale}): mean pulls {count[:, arm].mean():.1f}, sd {count[:, arm].std(ddof=1):.1f}")


if __name__ == "__main__":
    main()
