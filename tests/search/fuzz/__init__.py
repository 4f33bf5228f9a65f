"""Arbitrary bytes against whatever reads bytes: `python -m tests.search.fuzz T2 --inputs 100000`.

Decides: nothing here; `targets` says what is fed and what must hold, `loop` feeds it.
"""
