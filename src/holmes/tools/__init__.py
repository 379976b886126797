"""Tools: what they are, how they run, where they come from."""
