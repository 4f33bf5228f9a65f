"""Gates that read the repository itself: sizes, docstrings, the documented API, plain text."""
