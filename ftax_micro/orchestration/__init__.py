"""Running measurements: which rows, in which process, and what happens when one goes wrong."""
