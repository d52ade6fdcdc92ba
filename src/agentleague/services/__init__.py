"""Manager, referee and player as roles, and what joins them to the world."""
