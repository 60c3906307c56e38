"""One workload in all its modes, measured in processes of its own."""
