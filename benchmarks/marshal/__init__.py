"""What coordinating through a log costs: `python -m benchmarks.marshal`."""
