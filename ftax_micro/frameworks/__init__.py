"""Running frameworks politely: quiet, asked first for what they need, their errors in one line."""
