"""`make campaign`: searches that take days, sitting by sitting."""
