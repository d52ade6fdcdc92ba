"""A person without a browser: follows links, keeps cookies, and sends the forms of the page."""

import json
import re
from html import unescape
from http.cookiejar import CookieJar
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, Request, build_opener

from commands import SECONDS


class Person:
    """One browser without JavaScript; `pages` are all that it was ever shown."""

    def __init__(self, url):
        self.url, self.jar, self.pages = url.rstrip("/"), CookieJar(), []
        self._opener = build_opener(HTTPCookieProcessor(self.jar))
        self.status, self.at = 0, ""

    def open(self, path, form=None, **headers):
        """The page that is shown in the end, after redirects and a refresh at once."""
        return self._led_on(self._fetch(path, form, headers), headers)

    def open_from_elsewhere(self, path):
        """The same where another site led here: then no cookie is sent along at first."""
        kept = [*self.jar]
        self.jar.clear()
        text = self._fetch(path, None, {})
        new = {each.name for each in self.jar}
        for cookie in kept:
            if cookie.name not in new:
                self.jar.set_cookie(cookie)
        return self._led_on(text, {})

    def _fetch(self, path, form, headers):
        data = None if form is None else urlencode(form).encode()
        request = Request(self.url + path, data, headers)
        try:
            answer = self._opener.open(request, timeout=SECONDS)
        except HTTPError as error:
            answer = error
        with answer:
            self.status, self.at, text = answer.status, answer.url, answer.read().decode()
        self.pages.append(f"{answer.headers} {text}")
        assert self.status != 500, text
        return text

    def _led_on(self, text, headers):
        onward = re.search(r'http-equiv="refresh" content="0;url=([^"]+)"', text)
        if not onward:
            return text
        to = urljoin(self.at, unescape(onward[1])).removeprefix(self.url)
        return self.open(to, **headers)

    def join(self, name, **more):
        self.open("/join")
        return self.open("/play/join", {"name": name, **more})

    def state(self, version=""):
        """What a script is told."""
        return json.loads(self.open(f"/play/state?version={version}"))

    def wait_for(self, status):
        """The page as soon as it says so."""
        for _ in range(40):
            text = self.open("/play")
            if f'data-status="{status}"' in text:
                return text
            assert 'data-status="over"' not in text, f"{status} was missed: {text}"
            self.state(re.search(r'data-version="(\w+)"', text)[1])
        raise AssertionError(f"waited in vain for {status}: {text}")

    def play(self):
        """Press the first button in each turn until the league is over; the last page."""
        for _ in range(200):
            text = self.open("/play")
            status = re.search(r'data-status="(\w+)"', text)[1]
            if status == "over":
                return text
            if status == "your_turn":
                self.open("/play/move", form_of(text))
            else:
                self.state(re.search(r'data-version="(\w+)"', text)[1])
        raise AssertionError(f"it does not end: {text}")

    @property
    def seat(self):
        (seat,) = (each.value for each in self.jar if each.name.startswith("seat_"))
        return seat


def form_of(text):
    """The form of a turn with its first button."""
    turn = re.search(r'name="turn_id" value="([^"]+)"', text)[1]
    move = re.search(r'<button name="move" value="([^"]+)"', text)[1]
    return {"turn_id": turn, "move": unescape(move)}
