"""The same measurement on every node of a cluster, whatever engine runs it there."""
