"""The comparison of two bench tables."""

from __future__ import annotations

from bench.compare import compare, format_rows, read_table

BEFORE = """\
## Foundation

| what | figure | ratio | goal |
|---|---|---|---|
| `bash.run("true")` | 1.00 ms |  |  |
| … against `asyncio` | 2.00 ms | 0.50 × | ≤ 1.0 |
| `yes \\| head` | 400.00 ms | 0.80 × its speed | ≥ 0.8 |
| only before | 1 ms |  |  |
| words | none |  |  |
"""
AFTER = BEFORE.replace("1.00 ms", "1.20 ms").replace("0.50 ×", "0.51 ×").replace("0.80 × its", "0.40 × its")


def test_rows_are_read_with_their_unit_and_continued_rows_with_their_main_row() -> None:
    assert read_table(BEFORE) == {
        '`bash.run("true")`': (0.001, False),
        '`bash.run("true")` … against `asyncio`': (0.5, False),
        "`yes \\| head`": (0.8, True),
        "only before": (0.001, False),
    }


def test_a_row_is_worse_when_its_median_over_the_rounds_is() -> None:
    rows = compare([(BEFORE, AFTER), (BEFORE, AFTER), (BEFORE, BEFORE)])
    assert {what: round(row.factor, 3) for what, row in rows.items()} == {
        '`bash.run("true")`': 1.2,
        '`bash.run("true")` … against `asyncio`': 1.02,
        "`yes \\| head`": 2.0,
        "only before": 1.0,
    }


def test_rows_over_the_limit_are_marked() -> None:
    table = format_rows(compare([(BEFORE, AFTER)]), 1.05)
    assert [line for line in table.splitlines() if "over 1.05" in line] == [
        '| `bash.run("true")` | 0.001 | 0.0012 | 1.200 ×: **over 1.05** |',
        "| `yes \\| head` | 0.8 | 0.4 | 2.000 ×: **over 1.05** |",
    ]


def test_rows_that_only_one_tree_has_are_left_out() -> None:
    assert "only before" not in compare([(BEFORE, AFTER.replace("only before", "only now"))])
