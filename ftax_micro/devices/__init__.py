"""Devices: what can be measured here, opened by name."""
