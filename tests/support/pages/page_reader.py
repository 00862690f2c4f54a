"""A page as a person reads it, without a browser: its words, scripts, addresses and policy."""

from html.parser import HTMLParser

from analysis.report.page import More, render
from tests.support.pages.reports import Example


class Reader(HTMLParser):
    """What a person reads, what scripts the page has, and which addresses it names."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.policy = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        values = dict(attrs)
        self.addresses += [values[key] or "" for key in ("src", "href", "action") if key in values]
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"] or ""
        if tag == "script":
            self.scripts.append((values, ""))

    def handle_data(self, data):
        if self.tags[-1:] == ["script"] and self.scripts and self.lasttag == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self.lasttag != "style":
            self.words.append(data)

    def handle_endtag(self, tag):
        if tag in {"script", "style"}:
            self.lasttag = ""

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read(example: Example, more: More | None = None) -> Reader:
    """The example's page, as a person reads it."""
    return reading(page_of(example, more))


def page_of(example: Example, more: More | None = None) -> str:
    """The example's page as text."""
    return render(example.model, example.timeline, example.views, (), more or More())


def reading(page: str) -> Reader:
    """A page, as a person reads it."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


def script(reader: Reader, name: str) -> str:
    """What the page embeds under that name."""
    [text] = [text for attributes, text in reader.scripts if attributes.get("id") == name]
    return text
