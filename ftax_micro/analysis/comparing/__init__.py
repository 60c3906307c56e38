"""Results side by side: what pairs with what, by what ratio, beyond doubt or not."""
