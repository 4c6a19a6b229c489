from .english import LABELS, MESSAGES, VIEW
