"""What every coordination machine shares: rows, coverage, reactions, tickets, lease, claims.

Never: awaits, reads a clock, draws chance, logs or opens a socket.
"""
