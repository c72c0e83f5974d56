"""From a finished attempt to its verdict: evidence, facts, numbers, cause; a pure function of the record."""
