"""What to do about a latency, in sentences with numbers."""
