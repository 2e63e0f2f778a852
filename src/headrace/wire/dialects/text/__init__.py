"""The dialect of older APIs that continue a prompt and stream nothing but text."""
