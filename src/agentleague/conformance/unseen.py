"""The numbers of docs/protocol.md that no rule of the kit judges, and why.

Every number stands here or has a rule; a test holds both to the page.
"""

OURS_ALONE = "how our own league does it; nobody else need do so"
_OURS = {  # marked as ours on the page, by their area
    "MCP": "02 05",
    "SEAT": "01 02 03 04 05 06 11 12 13 14 15",
    "DIA": "01 02 03 04 05 06 07 08 09 10 11 12 13 14 15",
    "GUEST": "02 03 04 05 06 07 08",
    "START": "01 03 04 05 07 08 09",
    "MSG": "12 13 14",
    "ERR": "07 08 10",
    "LIM": "03 08",
    "TOK": "02 04",
    "PROOF": "01 02 03 04 05",
    "DRAW": "01 02 03 04 05 06",
    "GAME": "04 05 06 07 08 09 10 11 12",
    "MATCH": "05 11 15 18 21 22 24 25 26 27 28 29 30 31 33",
    "PLAYER": "01 02 03 05 06",
    "REF": "01 02 03 04 05",
    "LEAGUE": "01 02 03 05 06 08 11 16 17 21 22 23 34 35 36",
    "FLOW": "03 05 06",
    "LEASE": "01 02 03 04 05 06 07",
    "RESUME": "01 02 03 04",
    "ORG": "01 02 03 04 05 06 07 08 09",
    "REG": "02 03 06 07 08 10 13 14 15 16 17",
    "ACCESS": "01 02 03 04",
    "OWN": "01 02 03 04 05 06 07",
    "TABLE": "02 09 10",
    "QUERY": "03 04 05 08 09 10 11",
}
_SETTING = "a setting of the manager decides, and either answer is right"
_SMALL = "needs a league of more players than the kit plays"
_QUERY = "shown by a query of our own alone"
UNSEEN = {
    f"R-{area}-{number}": OURS_ALONE for area, found in _OURS.items() for number in found.split()
} | {
    "R-FORM-13": "needs a player that answers with a rate limit, which the kit does not play yet",
    "R-FORM-14": "where a referee may look for a move, not what anybody has to send",
    "R-TIME-05": "a leniency: what nobody has to look at",
    "R-MSG-01": "a list; the rules about each message judge it",
    "R-ERR-12": "the documents have LEAGUE_ERROR, and do not say when it is sent",
    "R-TOK-01": "what a token is made of is the manager's own affair",
    "R-TOK-03": "how our own agents make match tokens; any token of a referee will do",
    "R-REG-09": _SETTING,
    "R-REG-19": _SETTING,
    "R-REG-20": _SETTING,
    "R-TABLE-06": _SMALL,
    "R-QUERY-02": _QUERY,
    "R-QUERY-06": _QUERY,
    "R-QUERY-07": _SMALL,
}
