"""Formats: who meets whom next, from what was played; one file each, and the stages of a league."""
