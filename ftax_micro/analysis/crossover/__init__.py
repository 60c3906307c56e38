"""Where a latency stops being flat: sweeps and hinge fits."""
