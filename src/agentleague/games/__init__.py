"""Games: what the rules of a game are, and where to find one by name."""
