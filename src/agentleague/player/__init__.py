"""How a player plays: strategies that are pure functions."""
