"""Prompts to start from. The page's words name them (`example_…`); the prompts are for the default model."""

from __future__ import annotations

EXAMPLES: dict[str, str] = {
    "photosynthesis": "Explain how photosynthesis works in simple terms.",
    "story": "Write a short story about a lighthouse keeper who finds a message in a bottle.",
    "code": "Write a Python function that checks whether a string is a palindrome, then show two uses of it.",
    "song": "Write a short song about a river, with a chorus that comes back three times.",
}
