"""What runs the roles: sockets, files, processes, the clock and the settings."""
