"""Many results as one: groups of machines, what is between them and within, who is off."""
