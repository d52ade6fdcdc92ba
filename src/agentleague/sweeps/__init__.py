"""Many offline leagues by a plan, on all cores or on Ray, as one table: for researchers."""
