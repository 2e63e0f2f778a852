"""The same browser as for the tests of the page."""

from tests.browser.conftest import browser

__all__ = ["browser"]
