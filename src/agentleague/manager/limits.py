"""The limits of the manager that are no settings; tests hand in smaller ones."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ManagerLimits:
    """Limits of all parts of one manager."""

    # Outbox
    called_max: int = 1_000  # agents at a time; more only hold connections and memory
    # Rounds
    often_shown_players_max: int = 500  # in a larger league not every result is worth a table,
    table_results_part: int = 4  # but a quarter as many results as there are players
    # Assignments
    matches_a_message: int = 20
    epochs_max: int = 4  # how often a match is given out
    weight_max: int = 64  # matches at once, as far as they count when matches are spread
    assign_again_seconds: float = 1.0  # to a referee that did not answer
    new_referee_seconds: float = 2.0  # for the players of a match to hear of its new referee
    silent_part: float = 0.6  # of a lease: our referees send a status every third of it
    late_seconds: float = 0.25  # a lease check that is later was held up, as everything was
    # Matches that foreign referees start
    start_again_seconds: float = 1.0  # to a referee that is busy or not there
    report_seconds: float = 1.0  # at least, for a report after an answer that says nothing
    known_part: float = 0.2  # of the time for the match, if the dialect was understood before
    dialects_max: int = 40  # tried for one match
    # Registration
    return_seconds: float = 1.0  # between two registrations of the same agent,
    returns_free: int = 8  # so often; then twice as long each time,
    return_seconds_max: float = 600.0  # but never longer
    refusal_seconds: float = 60.0  # before the organiser is told again of the same refusal
    refusals_max: int = 20  # that the organiser is told of in that time
    token_generations_max: int = 8  # of a player, that are recognised when misused
    unchecked_max: int = 10_000  # end points that wait to be tried
    notices_max: int = 100  # for the organiser, not read yet
