"""Suggestions for misspelt names."""

from __future__ import annotations

from nacre.base.suggest import did_you_mean, find_nearest, find_similar

KNOWN = ("timeout", "workspace", "output_dir")


def test_misspelt_name_is_answered_with_the_most_similar_known_name() -> None:
    assert did_you_mean("timout", KNOWN) == "Did you mean 'timeout'?"
    assert did_you_mean("timout", dict.fromkeys(KNOWN), "See the docs.") == "Did you mean 'timeout'?"
    assert find_nearest("work_space", iter(KNOWN)) == "workspace"


def test_word_like_no_known_name_gets_the_other_hint() -> None:
    assert did_you_mean("xyzzy", KNOWN) == ""
    assert did_you_mean("xyzzy", KNOWN, "See the docs.") == "See the docs."
    assert find_nearest("xyzzy", KNOWN) is None


def test_cutoff_decides_how_similar_a_name_must_be() -> None:
    assert find_nearest("time", KNOWN) == "timeout"
    assert find_nearest("time", KNOWN, cutoff=0.75) is None


def test_value_that_is_no_text_is_compared_as_it_prints() -> None:
    assert find_nearest(12, ("11", "120")) == "120"


def test_several_similar_names_come_most_similar_first() -> None:
    assert find_similar("task-12", ["task-99", "task-1", "task-123", "x"], max_names=2) == ["task-123", "task-1"]
