"""The league manager as a role: pure decisions, no I/O."""
