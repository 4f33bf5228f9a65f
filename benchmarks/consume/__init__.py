"""What consuming costs, for `docs/performance.md`: `python -m benchmarks.consume`.

How it is measured is `kgroup.bench`; this is about our own goals, and the page about them.

- `scenarios`: every cell of that page, as data
- `goals`: what is to be reached, and whether it is
- `page`: `docs/performance.md`, from the JSON that is committed
"""
