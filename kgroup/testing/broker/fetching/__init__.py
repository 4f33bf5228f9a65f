"""Fetch: records, and the sessions in which consumers ask for them.

Decides: what a fetch is answered, and when (KIP-74, 227, 320, 392, 516, 595, 951).
Never: writes to a log; `logs` does.
"""
