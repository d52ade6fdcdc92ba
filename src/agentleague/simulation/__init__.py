"""Whole leagues in virtual time."""
