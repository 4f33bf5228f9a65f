"""What type checkers make of the public API: documented uses pass, wrong uses are refused."""
