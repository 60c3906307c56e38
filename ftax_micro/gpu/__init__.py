"""What NVML says of a GPU: its answers, its state around a sample, its load during forwards."""
