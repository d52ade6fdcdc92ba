"""The referee as a role: pure decisions, no I/O."""
