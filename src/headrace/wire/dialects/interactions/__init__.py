"""The dialect of Google's Interactions API."""
