"""One league: who takes part, who meets whom, what was decided; pure."""
