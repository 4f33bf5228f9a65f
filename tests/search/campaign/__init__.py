"""`make search ARGS=campaign`: searches that take days, sitting by sitting."""
