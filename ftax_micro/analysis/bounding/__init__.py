"""The pipeline model: bounds, framework tax, regime, and what would change them."""
