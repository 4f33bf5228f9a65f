"""Records in the hands of the application: one by one, in batches, in loops.

- `arrow`: Records as Arrow record batches, without a Python object for each
- `batch`: A batch: neighbouring records of one partition, in the application's hands
- `iterators`: Reading for ever: batches, or records one by one
- `leaving`: What counts as done when the application ends without an exception
- `polling`: Single reads: `getone` and `getmany`
- `reading`: Waiting for records: what every kind of reader has in common
- `record`: One record as the application sees it, and how bytes become keys and values
"""
