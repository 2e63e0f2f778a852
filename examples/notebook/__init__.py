"""A notebook that an agent writes in: a small product on Headrace, to be copied."""
