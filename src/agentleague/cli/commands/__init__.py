"""The commands of `league`, a module each."""
