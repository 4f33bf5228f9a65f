"""Levels A and A': members' machines and a broker's core in one heap of virtual time.

- `run`: plays a plan, and judges whether the group comes to rest.
- `member`, `application`: one member, driven by `tests.membership.machine`, and its application.
- `crew`, `process`: all lives of all members.
- `network`, `cluster`: time, connections, and the brokers behind them.
- `leading`: the leader's errand.
- `fetching`, `reading`: where reading begins, what is fetched, what is handed out.
- `nemesis`, `ambushes`, `refusing`: faults at an instant, faults on entering a state, refusals.
- `reasons`: what must be so before a coordinator ends a membership.
"""
