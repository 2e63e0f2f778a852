"""Chromium for the tests, with as few processes as possible."""

from __future__ import annotations

import shutil

from playwright.sync_api import Browser, Playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# Chromium loads two pages of its own for the address bar of every window, which take more time
# than ours. Of several lists it uses only the last one, so the first ones repeat what Playwright
# (2026-11-16) leaves out.
_DISABLED_FEATURES = (
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
)
_OPTIONS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    f"--disable-features={','.join(_DISABLED_FEATURES)}",
)


def find_chromium() -> str | None:
    """Return the path of the Chromium of this machine, or None."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def launch_chromium(playwright: Playwright) -> Browser:
    """Start the Chromium of this machine."""
    return playwright.chromium.launch(executable_path=find_chromium(), args=list(_OPTIONS))
