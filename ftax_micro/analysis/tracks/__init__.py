"""Measured forwards and steps, and the schedules behind their bounds, as tracks of a timeline."""
