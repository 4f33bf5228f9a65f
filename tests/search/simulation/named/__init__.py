"""What users of other clients suffered from, each as a schedule that provokes it.

- `catalogue`: all symptoms, and which schedule or which other test provokes each.
- `case`, `tale`: what a named schedule is, and the questions that its journal answers.
- `rounds`, `handing_over`, `evicted`, `leaving`, `statics`, `commits`, `coordinator`: schedules.
- `planting`: plants the bug that a schedule must notice.
- `page`: writes `docs/maintainers/symptoms.md`.
"""
