"""Texts as end points: refused with a sentence, or one request line to one place."""

from ipaddress import ip_address

from agentleague.errors import EndpointNotAllowed
from agentleague.transport.guard import URL_LENGTH_MAX, Guard, parse_url
from fuzz.sentences import check_sentence

SEEDS = [
    b"http://127.0.0.1:8101/mcp",
    b"https://localhost/mcp?x=y",
    b"http://[::ffff:127.0.0.1]:80/",
    b"http://2130706433/ http://0x7f.1/ http://0177.0.0.1/ http://127.1/",
    b"http://user:pass@host:1/#x",
    "http://①②⑦.0.0.1/ http://\uff4cocalhost/ http://bücher.example/".encode(),
    b"http://[fe80::1%25eth0]/ http://[fe80::1%eth0]:1/",
    b"http://localhost./ http://127.0.0.1./ http://a..b/",
    b"HTTP://LOCALHOST:65536/\r\nHost: evil",
]
GUARDS = (Guard(), Guard("lan", ["10.0.0.0/8", "fd00::/8"]), Guard("lan", ["0.0.0.0/0", "::/0"]))


def one(data: bytes) -> None:
    """Each word, and the whole."""
    text = data.decode("utf-8", "replace")
    for url in (text, *text.split()[:6]):
        try:
            endpoint = parse_url(url)
        except EndpointNotAllowed as error:
            check_sentence(error, 2_000)
            continue
        head = endpoint.post_head
        assert head.count(b"\r\n") == 4
        assert head.count(b"\r\nHost: ") == 1
        assert 1 <= endpoint.port <= 65_535
        again = f"{endpoint.scheme}://{endpoint.authority}{endpoint.path}"
        if len(again) <= URL_LENGTH_MAX:  # A path of ours may have made it longer.
            assert parse_url(again) == endpoint
        for guard in GUARDS:
            _check(guard, url, endpoint.address is not None)


def _check(guard: Guard, url: str, is_literal: bool) -> None:
    try:
        guard.check_url(url)
    except EndpointNotAllowed:
        assert is_literal
    else:
        host = parse_url(url).host
        assert not is_literal or guard.allows(host)
        assert not is_literal or not ip_address(host).is_link_local
