"""The browser that the tests of the page share."""

from tests.support.page_browser import browser, screen

__all__ = ["browser", "screen"]
