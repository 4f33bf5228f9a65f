"""A text nobody may see: a password, a token, the passphrase of a key.

Decides: that it shows itself only to whoever says `reveal`, and how a text of somebody else's is
cleared of it.
Never: appears in a repr, a log, an error or a journal.
"""

import base64
import hmac

__all__ = ["Secret"]

_SHORTEST = 3
"""Shorter ones are words of any sentence: taking those out would hide the sentence."""


class Secret:
    """Holds one secret text.

    Args:
        text: the secret, at least one character.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself; only where it is written to a socket or to a proof."""
        return self._text

    def removed_from(self, text: str) -> str:
        """Return somebody else's text without the secret, as it is and in base64."""
        if len(self._text) < _SHORTEST:
            return text
        encoded = base64.b64encode(self._text.encode()).decode()
        for form in (self._text, encoded):
            text = text.replace(form, "***")
        return text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __repr__(self) -> str:
        return "<secret>"
