"""The classic group protocol as a table: states, facts about states, rows, and one pure step.

Never: awaits, reads a clock, draws chance, logs or opens a socket.
"""
