"""How a check says what it found: an offence, or that the fault is another promise's matter.

Decides: that every broken promise is reported once, by the check it belongs to.
Never: leaves the kit: `hunting` catches both.
"""

__all__ = ["Elsewhere", "Offence"]


class Offence(Exception):
    """A promise is broken.

    Args:
        says: how, in one sentence.
        evidence: what shows it, ready to print: groups as code, answers; empty for nothing more
            than the group that was asked about.
    """

    def __init__(self, says: str, evidence: str = "") -> None:
        super().__init__(says)
        self.says = says
        self.evidence = evidence


class Elsewhere(Exception):
    """Nothing can be said here, because another promise is broken or does not apply."""
