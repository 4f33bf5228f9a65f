"""Tests of the room `spark`: pure ones, and with the mark `spark` those that start a Spark."""
