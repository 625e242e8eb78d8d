"""The list of ruled-out words: each entry finds its example, but not the rewritten one."""

import pytest

from tools.language.__main__ import WORDS, ruled_out
from tools.language.prose import COMMENT, DOCSTRING, MESSAGE, Text, passages, sentences
from tools.sentences import drawn


@pytest.mark.parametrize("word", WORDS["words"], ids=lambda word: word["before"][:40])
def test_an_entry_finds_the_sentence_that_it_rules_out(word):
    assert word["instead"] in [instead for _, instead in ruled_out(word["before"])]


@pytest.mark.parametrize("word", WORDS["words"], ids=lambda word: word["after"][:40])
def test_the_rewritten_sentence_is_clean(word):
    assert list(ruled_out(word["after"])) == []


def test_a_passage_is_split_into_sentences_of_four_words_and_more():
    passage = Text("a.py", 3, "One row per generation.\n\nKey: x. Written by the job churn.")

    assert [text.words for text in sentences(passage)] == [
        "One row per generation.",
        "Written by the job churn.",
    ]


def test_each_entry_of_a_list_and_each_row_of_a_table_is_a_sentence_of_its_own():
    passage = Text(
        "a.md", 3, "- the first entry has\n  two lines\n- and the second one\n| a | cell of it |"
    )

    assert [text.words for text in sentences(passage)] == [
        "- the first entry has two lines",
        "- and the second one",
        "| a | cell of it |",
    ]


MODULE = '''"""The module's own docstring."""
# A comment
# of two lines.
def f(x):
    raise ValueError(f"{x.name} is no member of the group")
'''


def test_the_kinds_of_a_module_s_texts():
    """An f-string is one text, with its expressions in braces."""
    assert sorted(passages("a.py", MODULE)) == [
        (1, DOCSTRING, "The module's own docstring."),
        (2, COMMENT, "A comment of two lines."),
        (5, MESSAGE, "{x.name} is no member of the group"),
    ]


def test_a_comment_behind_code_joins_no_other_comment():
    module = (
        "# Before\n# the code.\na = 1  # Behind the first.\nb = 2  # Behind the second.\n# After.\n"
    )

    assert passages("a.py", module) == [
        (1, COMMENT, "Before the code."),
        (3, COMMENT, "Behind the first."),
        (4, COMMENT, "Behind the second."),
        (5, COMMENT, "After."),
    ]


def test_a_draw_has_each_kind_by_its_share_and_no_query():
    texts = [
        Text(f"jobs/{n}.py", n, f"sentence number {n} of this kind", kind)
        for kind in ("message", "doc", "docstring", "comment", "sql")
        for n in range(40)
    ]
    texts += [Text("jobs/q.py", 1, "SELECT a FROM t WHERE b", "message")] * 500

    rows = drawn(texts, seed=3, count=20)

    assert [row.kind for row in rows] == (
        ["message"] * 4 + ["doc"] * 5 + ["docstring"] * 5 + ["comment"] * 4 + ["sql"] * 2
    )
    assert not any("SELECT" in row.words for row in rows)
    assert rows == drawn(texts, seed=3, count=20) != drawn(texts, seed=4, count=20)
