"""What can happen to a role, what it can do, and the ports through which both pass."""
