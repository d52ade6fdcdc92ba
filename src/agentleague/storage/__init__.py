"""Where the journal's rows are kept: in memory or in one SQLite file per directory."""
