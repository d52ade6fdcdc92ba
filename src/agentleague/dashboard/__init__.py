"""What people look at: pages of a league, live or as a report, from its journal alone."""
