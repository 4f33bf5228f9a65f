"""The sieve against the judge: over many groups, and over groups with a fault of a known kind.

- `planted`: long runs of a plain group, each with one fault whose place is known
- `bugs`: what members logged in the schedules that found the planted bugs of `tests/search`
- `groups`: groups by the thousand, each of a seed
- `many`: a fleet of any size as Parquet
- `against`: where the verdict on a fleet differs from the audit's own
- `__main__`: thousands of groups, and a million lines, for `make spark-sieve`
"""
