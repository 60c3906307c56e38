"""Model latency: what is asked for, one workload after the other, and the file that grows."""
