"""One match as its referee runs it, pure."""
