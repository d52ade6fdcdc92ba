"""Messages over a wire: in memory, and over HTTP."""
