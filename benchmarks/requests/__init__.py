"""What members of a group ask brokers for while nothing happens to it.

- `counting`: reads a broker's log of requests
- `__main__`: runs a group of each client, writes JSON
- `page`: its part of `docs/performance.md`
"""
