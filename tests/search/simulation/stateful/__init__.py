"""A group whose every step Hypothesis chooses: level A of the simulation, rule by rule."""
