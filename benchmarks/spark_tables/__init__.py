"""What tables of coordination and a fleet's verdict cost, next to one process without a Spark.

- `live`: a job that goes on, and alarms
- `making`: records of a coordination log, by a seed
- `fleets`: a fleet's event logs, and one large group
- `__main__`: what is measured, and the report
"""
