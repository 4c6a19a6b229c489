"""What can go wrong in a way the person at the keyboard can fix.

Every message is one line that says what is wrong and what is allowed, because the page, the
endpoint and the command line all show it as it stands.
"""


class SporkError(ValueError):
    """Base of every error whose message is meant for the user."""


class ConfigError(SporkError):
    """A knob out of its range, an unknown name, or a combination that cannot work."""


class ModelError(SporkError):
    """A model that cannot be had, or that this engine cannot run; says why and what to use."""


class TraceError(SporkError):
    """A trace file that is damaged, or written by a newer version."""
