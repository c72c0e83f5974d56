"""The accountant's own example: epsilon of a subsampled Gaussian mechanism after 1,000 steps."""

import json
from pathlib import Path

from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

SETTINGS = json.loads((Path(__file__).parent / "weights" / "accountant.json").read_text(encoding="utf-8"))


def readme_example():
    """Return lower bound, estimate and upper bound of epsilon."""
    mechanism = PoissonSubsampledGaussianMechanism(
        sampling_probability=SETTINGS["sampling_probability"], noise_multiplier=SETTINGS["noise_multiplier"]
    )
    accountant = PRVAccountant(
        mechanism,
        max_self_compositions=SETTINGS["steps"],
        eps_error=SETTINGS["eps_error"],
        delta_error=SETTINGS["delta_error"],
    )
    return accountant.compute_epsilon(delta=SETTINGS["delta"], num_self_compositions=SETTINGS["steps"])


if __name__ == "__main__":
    low, estimate, high = readme_example()
    print(f"epsilon between {low:.3f} and {high:.3f}, estimate {estimate:.3f}")
