"""The paired benchmark: SPORK, its own greedy, and transformers' generate, on the same weights."""
