"""Arbitrary bytes against whatever reads bytes: `python -m tests.search.fuzz T2 --inputs 100000`.

- `targets`: what is fed to which code, and what must hold. `target`: what a target is.
- `loop`, `mutation`, `recorded`: feed a target, make inputs, and the inputs to begin with.
- `member_life`, `member_answers`, `making`: one member's life, and values, read from bytes.
- `reference`, `legacy_reference`, `records_reference`, `kafka_python`: second readers.
"""
