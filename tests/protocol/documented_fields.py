"""Which fields each of the five documents gives to each message, by path.

A path names fields by dots, the rows of a list by `[]` and any key of a map by `*`.
"""

ENVELOPE = "protocol message_type sender timestamp conversation_id"
TABLE_ROW = "rank player_id display_name played wins draws losses points"
MATCH = "match_id game_type player_A_id player_B_id referee_endpoint"


def under(prefix, names):
    return " ".join(f"{prefix}{name}" for name in names.split())


# document -> message type -> the fields it has there, beside the envelope
DOCUMENTED = {
    "000": {
        "GAME_INVITATION": "auth_token league_id round_id match_id",
        "LEAGUE_REGISTER_RESPONSE": "status player_id auth_token",
        "LEAGUE_REGISTER_REQUEST": under(
            "player_meta.", "display_name version protocol_version game_types"
        ),
        "LEAGUE_ERROR": "error_code error_name error_description context.player_id retryable",
        "GAME_ERROR": "match_id player_id error_code error_name error_description game_state"
        " retryable retry_count max_retries",
    },
    "001": {
        "REFEREE_REGISTER_REQUEST": under(
            "referee_meta.",
            "display_name version game_types contact_endpoint max_concurrent_matches",
        ),
        "REFEREE_REGISTER_RESPONSE": "status referee_id auth_token league_id reason",
        "LEAGUE_REGISTER_REQUEST": under(
            "player_meta.", "display_name version game_types contact_endpoint"
        ),
        "LEAGUE_REGISTER_RESPONSE": "status player_id auth_token league_id reason",
        "ROUND_ANNOUNCEMENT": "league_id round_id " + under("matches[].", MATCH),
        "ROUND_ANNOUNCEMENT_ACK": "status player_id round_id",
        "LEAGUE_STANDINGS_UPDATE": "league_id round_id " + under("standings[].", TABLE_ROW),
        "STANDINGS_UPDATE_ACK": "status player_id round_id",
        "ROUND_COMPLETED": "league_id round_id matches_played next_round_id",
        "ROUND_COMPLETED_ACK": "status player_id round_id",
        "LEAGUE_COMPLETED": "league_id total_rounds total_matches"
        " champion.player_id champion.display_name champion.points "
        + under("final_standings[].", "rank player_id display_name points wins draws losses"),
        "LEAGUE_COMPLETED_ACK": "status player_id",
        "GAME_INVITATION": "auth_token league_id round_id match_id game_type role_in_match"
        " opponent_id",
        "GAME_JOIN_ACK": "auth_token match_id player_id arrival_timestamp accept",
        "CHOOSE_PARITY_CALL": "auth_token match_id player_id game_type deadline"
        " context.opponent_id context.round_id "
        + under("context.your_standings.", "wins losses draws points"),
        "CHOOSE_PARITY_RESPONSE": "auth_token match_id player_id parity_choice",
        "GAME_OVER": "auth_token match_id game_type "
        + under(
            "game_result.",
            "status winner_player_id drawn_number number_parity choices.* reason",
        ),
        "GAME_OVER_ACK": "status player_id match_id",
        "MATCH_RESULT_REPORT": "auth_token league_id round_id match_id game_type"
        " result.winner result.score.* "
        + under("result.details.", "drawn_number choices.* status"),
        "MATCH_RESULT_ACK": "status match_id round_id",
        "LEAGUE_ERROR": "error_code error_description context.provided_token context.action"
        " context.player_id",
        "GAME_ERROR": "auth_token match_id error_code error_description affected_player"
        " action_required retry_count max_retries consequence",
        "GAME_ERROR_ACK": "status player_id match_id",
        "LEAGUE_QUERY": "auth_token league_id query_type",
        "LEAGUE_QUERY_RESPONSE": "query_type current_round " + under("standings[].", TABLE_ROW),
    },
    "002": {
        "REFEREE_REGISTER_REQUEST": under(
            "referee_meta.",
            "display_name version game_types contact_endpoint max_concurrent_matches",
        ),
        "REFEREE_REGISTER_RESPONSE": "status referee_id reason",
        "LEAGUE_REGISTER_REQUEST": under(
            "player_meta.", "display_name version game_types contact_endpoint"
        ),
        "LEAGUE_REGISTER_RESPONSE": "status player_id reason",
        "GAME_INVITATION": "league_id round_id match_id game_type role_in_match opponent_id",
        "CHOOSE_PARITY_CALL": "match_id player_id game_type deadline context.opponent_id"
        " context.round_id context.your_standings",
        "CHOOSE_PARITY_RESPONSE": "match_id player_id parity_choice",
        "GAME_OVER": "match_id game_type "
        + under(
            "game_result.", "status winner_player_id drawn_number number_parity choices reason"
        ),
        "GAME_ERROR": "error_code error_description affected_player action_required consequence "
        + under("retry_info.", "retry_count max_retries next_retry_at"),
        "LEAGUE_ERROR": "error_code error_description affected_player action_required consequence "
        + under("retry_info.", "retry_count max_retries next_retry_at"),
    },
    "003": {
        "REFEREE_REGISTER_REQUEST": under(
            "referee_meta.",
            "display_name version game_types contact_endpoint max_concurrent_matches",
        ),
        "REFEREE_REGISTER_RESPONSE": "status referee_id reason",
        "LEAGUE_REGISTER_REQUEST": under(
            "player_meta.", "display_name version game_types contact_endpoint"
        ),
        "LEAGUE_REGISTER_RESPONSE": "status player_id reason",
        "ROUND_ANNOUNCEMENT": "league_id round_id " + under("matches[].", MATCH),
        "GAME_INVITATION": "league_id round_id match_id game_type role_in_match opponent_id",
        "GAME_JOIN_ACK": "match_id player_id arrival_timestamp accept",
        "CHOOSE_PARITY_CALL": "match_id player_id game_type deadline context.opponent_id"
        " context.round_id " + under("context.your_standings.", "wins losses draws"),
        "CHOOSE_PARITY_RESPONSE": "match_id player_id parity_choice",
        "GAME_OVER": "match_id game_type reason "
        + under("game_result.", "status winner_player_id drawn_number number_parity choices.*"),
        "MATCH_RESULT_REPORT": "league_id round_id match_id game_type result.winner"
        " result.score.* result.details.drawn_number result.details.choices.*",
        "LEAGUE_STANDINGS_UPDATE": "league_id round_id " + under("standings[].", TABLE_ROW),
        "ROUND_COMPLETED": "league_id round_id matches_completed next_round_id "
        + under("summary.", "total_matches wins draws technical_losses"),
        "LEAGUE_COMPLETED": "league_id total_rounds total_matches "
        + under("champion.", "player_id display_name points")
        + " "
        + under("final_standings[].", "rank player_id points"),
        "LEAGUE_QUERY": "auth_token league_id query_type query_params.player_id",
        "LEAGUE_QUERY_RESPONSE": "query_type success error "
        + under("data.next_match.", "match_id round_id opponent_id referee_endpoint"),
        "LEAGUE_ERROR": "error_code error_description original_message_type"
        " context.provided_token context.expected_format",
        "GAME_ERROR": "match_id error_code error_description affected_player action_required"
        " consequence " + under("retry_info.", "retry_count max_retries next_retry_at"),
    },
    "004": {
        "REFEREE_REGISTER_REQUEST": under(
            "referee_meta.",
            "display_name version game_types contact_endpoint max_concurrent_matches",
        ),
        "REFEREE_REGISTER_RESPONSE": "status referee_id reason auth_token",
        "LEAGUE_REGISTER_REQUEST": under(
            "player_meta.", "display_name version game_types contact_endpoint"
        ),
        "LEAGUE_REGISTER_RESPONSE": "status player_id reason auth_token",
        "ROUND_ANNOUNCEMENT": "league_id round_id " + under("matches[].", MATCH),
        "ROUND_COMPLETED": "league_id round_id matches_completed next_round_id "
        + under("summary.", "total_matches wins draws technical_losses"),
        "LEAGUE_COMPLETED": "league_id total_rounds total_matches "
        + under("champion.", "player_id display_name points")
        + " "
        + under("final_standings[].", "rank player_id display_name points"),
        "GAME_INVITATION": "league_id round_id match_id game_type role_in_match opponent_id",
        "GAME_JOIN_ACK": "match_id player_id arrival_timestamp accept",
        "GAME_OVER": "match_id game_type "
        + under(
            "game_result.",
            "status winner_player_id drawn_number number_parity choices.* reason",
        ),
        "CHOOSE_PARITY_CALL": "match_id player_id game_type deadline context.opponent_id"
        " context.round_id " + under("context.your_standings.", "wins losses draws"),
        "CHOOSE_PARITY_RESPONSE": "match_id player_id parity_choice",
        "MATCH_RESULT_REPORT": "league_id round_id match_id game_type result.winner"
        " result.score.* result.details.drawn_number result.details.choices.*",
        "LEAGUE_STANDINGS_UPDATE": "league_id round_id " + under("standings[].", TABLE_ROW),
        "LEAGUE_QUERY": "auth_token league_id query_type query_params.player_id"
        " query_params.round_id",
        "LEAGUE_QUERY_RESPONSE": "query_type success "
        + under("data.next_match.", "match_id round_id opponent_id referee_endpoint")
        + " data.standings "
        + under("error.", "error_code error_name error_description"),
        "LEAGUE_ERROR": "error_code error_description original_message_type"
        " context.provided_token context.expected_format",
        "GAME_ERROR": "match_id error_code error_name error_description retryable time_remaining"
        " affected_player action_required consequence context.invalid_choice"
        " context.valid_choices "
        + under("retry_info.", "retry_count max_retries next_retry_at time_remaining"),
    },
}
