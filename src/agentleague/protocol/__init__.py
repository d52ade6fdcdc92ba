"""The wire of league.v2: messages, their JSON, tokens and draws; pure."""
