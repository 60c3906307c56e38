"""Traces that other profilers recorded: read, correlated, and split into steps."""
