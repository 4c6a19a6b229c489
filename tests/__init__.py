"""SPORK's tests; they mirror spork/ and ui/."""
