"""SPORK: self-speculative fork decoding, an engine that can be watched."""
