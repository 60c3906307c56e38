"""One row or rung at one setting, here or in a process of its own."""
