"""Where reading goes on, and getting records from there."""
