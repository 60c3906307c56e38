"""Pure functions of recorded data: nothing here measures, prints or draws."""
