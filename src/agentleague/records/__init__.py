"""What can be said from a journal: whether it is true, what it says, and how a match went."""
