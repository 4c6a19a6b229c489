"""The automaton against a search through the whole text."""

from __future__ import annotations

import random

import pytest

from spork.suffix_automaton import SuffixAutomaton


def searched(text: list[int]) -> dict[int, tuple[int, int]]:
    """token -> (longest match it ever followed, the latest place of that), by looking everywhere."""
    found: dict[int, tuple[int, int]] = {}
    for place in range(1, len(text)):
        length = 0
        while length < place and text[place - 1 - length] == text[len(text) - 1 - length]:
            length += 1
        if length:
            found[text[place]] = max(found.get(text[place], (0, 0)), (length, place))
    return found


@pytest.mark.parametrize("letters", [1, 2, 3, 10])
@pytest.mark.parametrize("seed", range(6))
def test_it_finds_what_a_search_of_the_whole_text_finds(letters, seed):
    rng = random.Random(seed)
    automaton, text = SuffixAutomaton(), []
    for _ in range(60):
        token = rng.randrange(letters)
        text.append(token)
        automaton.append(token)
        got = list(automaton.continuations())
        expected = searched(text)
        assert {text[place]: length for length, place in got} == {t: length for t, (length, _) in expected.items()}
        assert [length for length, _ in got] == sorted((length for length, _ in got), reverse=True)
        for length, place in got:
            assert text[place - length : place] == text[len(text) - length :], "it follows an earlier match"


def test_the_latest_place_comes_first_within_a_length():
    automaton = SuffixAutomaton()
    for token in [1, 2, 7, 1, 2, 8, 1, 2, 9, 1, 2]:
        automaton.append(token)
    assert [(length, automaton.text[place]) for length, place in automaton.continuations()] == [(2, 9), (2, 8), (2, 7)]


def test_an_empty_text_and_a_new_token_have_no_match():
    automaton = SuffixAutomaton()
    assert list(automaton.continuations()) == []
    for token in (1, 2, 3):
        automaton.append(token)
        assert list(automaton.continuations()) == []


def test_its_size_is_linear_in_the_text():
    for text in ([0] * 3000, [i % 7 for i in range(3000)], random.Random(1).choices(range(5), k=3000)):
        automaton = SuffixAutomaton()
        for token in text:
            automaton.append(token)
        assert len(automaton._longest) <= 2 * len(text) + 1
        assert sum(map(len, automaton._next)) <= 3 * len(text) + 1
