"""Values become columns of the stated dtypes, and what does not fit becomes missing instead of stopping a load."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from reclaim_nb.analysis.columns import series


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1, None, 3], "Int64", [1, pd.NA, 3]),
        (["4", "4.0", "", "four"], "Int64", [4, 4, pd.NA, pd.NA]),
        ([1.5, float("nan"), float("inf"), 1e30, -7], "Int64", [pd.NA, pd.NA, pd.NA, pd.NA, -7]),
        ([pd.NA, True, "2"], "Int64", [pd.NA, 1, 2]),
        ([1, "0.25", None, "n/a"], "Float64", [1.0, 0.25, pd.NA, pd.NA]),
        ([[1], {}, 2.5], "Float64", [pd.NA, pd.NA, 2.5]),
        ([None, None], "Float64", [pd.NA, pd.NA]),
        ([], "Int64", []),
        ([0, 1, None, pd.NA], "boolean", [False, True, pd.NA, pd.NA]),
        (["run", "retrain", "other", None], "tier", ["run", "retrain", None, None]),
    ],
)
def test_what_does_not_fit_is_missing(values: list[Any], dtype: str, expected: list[Any]) -> None:
    found = series(values, dtype)
    assert str(found.dtype) == ("category" if dtype == "tier" else dtype)
    assert [None if pd.isna(one) else one for one in found] == [None if pd.isna(one) else one for one in expected]


@pytest.mark.parametrize(
    "values",
    [
        ["2026-01-02T03:04:05.678901Z", None, "2026-12-31T23:59:59.000000Z"],
        ["2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00", "2026-01-02"],
        ["2026-01-02T03:04:05.678901Z", "2026-13-02T03:04:05.678901Z", "none of these 27 characterZ"],
        ["2026-01-02T03:04:05.678901Z", "9999-12-31T23:59:59.000000Z", "0001-01-01T00:00:00.000000Z"],
        [1_767_323_045_678_901_000, None],
        [None],
        [],
    ],
)
def test_times_are_those_that_pandas_reads(values: list[Any]) -> None:
    found = series(values, "datetime64[ns, UTC]")
    assert str(found.dtype) == "datetime64[ns, UTC]"
    expected = [pd.to_datetime(value, utc=True, errors="coerce") for value in values]
    assert [None if pd.isna(one) else one for one in found] == [None if pd.isna(one) else one for one in expected]
