"""Characters come out whole, and what may be a stop string is held back."""

import pytest

from spork.text import Detokenizer, OutputText, token_label
from tests.tiny import tiny_tokenizer

TEXTS = ["the hen", "naïve café", "日本語のテキスト", "👩‍👩‍👧‍👦 family", "a\n\tb  c", "🙂" * 5, "e\u0301 combining"]


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_tokenizer()


@pytest.mark.parametrize("text", TEXTS)
def test_pieces_join_to_the_text_and_never_show_a_replacement_mark(tokenizer, text):
    detokenizer = Detokenizer(tokenizer)
    pieces = [detokenizer.push(i) for i in tokenizer.encode(text, add_special_tokens=False)]
    assert "".join(pieces) == text
    assert not any("\ufffd" in piece for piece in pieces)


def test_a_character_cut_off_by_the_end_is_dropped(tokenizer):
    ids = tokenizer.encode("ok🙂", add_special_tokens=False)
    for missing in (1, 2, 3):
        output = OutputText(tokenizer, ())
        text = "".join(output.push(i)[0] for i in ids[:-missing]) + output.finish()
        assert text == "ok" == output.text


def test_special_tokens_print_nothing(tokenizer):
    output = OutputText(tokenizer, ())
    ids = [*tokenizer.encode("hi", add_special_tokens=False), tokenizer.eos_token_id]
    assert "".join(output.push(i)[0] for i in ids) == "hi"
    assert output.token_ids == ids


@pytest.mark.parametrize("text", TEXTS)
def test_a_stop_string_at_every_place(tokenizer, text):
    for start in range(len(text)):
        for size in (1, 2, 4):
            stop = text[start : start + size]
            output = OutputText(tokenizer, (stop,))
            shown, stopped = "", False
            for i in tokenizer.encode(text, add_special_tokens=False):
                piece, stopped = output.push(i)
                shown += piece
                if stopped:
                    break
            assert stopped, stop
            assert shown == output.text == text[: text.index(stop)]
            kept = tokenizer.decode(output.token_ids, skip_special_tokens=True)
            assert output.text.startswith(kept)


def test_a_false_start_of_a_stop_string_is_shown_once_it_is_over(tokenizer):
    output = OutputText(tokenizer, ("abcd",))
    pieces = [output.push(i)[0] for i in tokenizer.encode("xabcabce", add_special_tokens=False)]
    assert pieces[:4] == ["x", "", "", ""]
    assert "".join(pieces) == "xabcabce"


def test_the_earliest_of_several_stops_wins(tokenizer):
    output = OutputText(tokenizer, ("cd", "b"))
    results = [output.push(i) for i in tokenizer.encode("abcd", add_special_tokens=False)[:2]]
    assert results[-1][1]
    assert output.text == "a"


def test_what_was_held_back_is_shown_at_the_end(tokenizer):
    output = OutputText(tokenizer, ("zz",))
    shown = "".join(output.push(i)[0] for i in tokenizer.encode("az", add_special_tokens=False))
    assert (shown, output.finish()) == ("a", "z")


def test_labels_show_split_bytes_by_value(tokenizer):
    first, *_ = tokenizer.encode("🙂", add_special_tokens=False)
    assert token_label(tokenizer, first) == "<0xF0>"
    assert token_label(tokenizer, tokenizer.eos_token_id) == "<|im_end|>"
    the, = tokenizer.encode(" the", add_special_tokens=False)
    assert token_label(tokenizer, the) == " the"
