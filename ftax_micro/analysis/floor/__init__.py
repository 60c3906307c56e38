"""The rows of a launch floor and what follows from them."""
