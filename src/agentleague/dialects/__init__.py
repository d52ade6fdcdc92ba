"""How foreign agents spell the protocol: every form but our own, read and written; pure."""
