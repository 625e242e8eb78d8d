"""The list of ruled-out words: each entry finds its example, but not the rewritten one."""

import pytest

from tools.language.__main__ import WORDS, ruled_out
from tools.language.prose import Text, sentences


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
