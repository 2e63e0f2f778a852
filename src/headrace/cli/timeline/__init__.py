"""Timelines drawn for the terminal and as SVG pictures."""
