"""What a broker must never send (N1 to N29), sent to whole consumers; `rows` says what is where."""
