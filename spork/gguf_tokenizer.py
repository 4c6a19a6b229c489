"""The tokenizer of a GGUF file of the SmolLM2 family, built from the file's own tables.

transformers can convert it too, but what comes out differs between releases (an end token that
is the start token, a decoder that turns `▁` into a space), and all of them drop the rule that
digits stand alone, which changes the ids of a digit after two spaces. Here it is what the family
was trained with: byte-level BPE, digits apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: GGUF's mark of a control token in `tokenizer.ggml.token_type`.
_CONTROL = 3


def read_tokenizer(gguf: Path) -> Any:
    """A fast transformers tokenizer with special tokens and chat template. Raises ImportError without gguf."""
    from gguf import GGUFReader
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    fields = GGUFReader(gguf).fields
    tokens, merges, kinds = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges", "token_type"))
    vocab = {token: number for number, token in enumerate(tokens)}
    core = Tokenizer(models.BPE(vocab=vocab, merges=[tuple(pair.split(" ")) for pair in merges]))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    core.decoder = decoders.ByteLevel()
    control = [token for token, kind in zip(tokens, kinds) if kind == _CONTROL]
    core.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    names = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    special = {f"{ours}_token": tokens[fields[f"tokenizer.ggml.{its}_token_id"].contents()] for ours, its in names.items()}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, clean_up_tokenization_spaces=False, **special)
    tokenizer.chat_template = fields["tokenizer.chat_template"].contents()
    return tokenizer
