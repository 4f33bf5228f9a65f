"""The drop-ins beside their originals through the same outages: `python -m tests.dropin.outages`.

- `program`: one naive program on one of the four classes; it ends at its first exception
- `__main__`: the outages, on real brokers and in the process, and the table of `docs/drop-in.md`
"""
