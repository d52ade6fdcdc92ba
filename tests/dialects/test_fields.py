"""The fields that stay in a plain message are those of document 001."""

from agentleague.dialects.fields import ENVELOPE, FIELDS
from protocol.documented_fields import DOCUMENTED


def test_the_table_is_that_of_document_001():
    envelope = set(ENVELOPE.split())

    for message_type, paths in FIELDS.items():
        documented = set(DOCUMENTED["001"][message_type].split())
        assert set(paths.split()) == documented - envelope, message_type
