"""The rows of the catalog, by the kind of provider."""
