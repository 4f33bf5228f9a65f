"""Recorded conversations with real brokers, replayed against the in-process one.

- `recorded`: a trace as exchanges, each a request and what became of it
- `polls`: exchanges that were not recorded, rebuilt from the notes of the trace
- `moves`: what happened to the coordinator in a trace, as the notes say
- `scripted_mint`: hands out the very ids that the real broker made
- `replay`: the conversation with our broker, at the recorded times
- `compare`: both answers, field by field
- `exceptions`: what is known to differ, by name
"""
