"""A notebook that an agent writes in: a small application to copy and extend."""
