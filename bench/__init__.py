"""What Headrace costs beside its peers: `make bench`. Not part of the package."""
