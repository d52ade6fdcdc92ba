"""Measure how many matches a second this machine plays."""
