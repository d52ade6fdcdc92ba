"""What results say, and how little: ratings, chances of ranks, and what luck alone would do."""
