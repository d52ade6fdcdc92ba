"""How foreign agents spell the protocol: all that is read or written besides our own form; pure."""
