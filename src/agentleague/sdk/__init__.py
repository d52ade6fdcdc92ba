"""For agent authors: a player in ten lines."""
