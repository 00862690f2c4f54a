"""The browser that the tests of the page share."""

from tests.support.pages.page_browser import browser, screen

__all__ = ["browser", "screen"]
