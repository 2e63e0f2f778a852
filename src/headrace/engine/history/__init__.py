"""History of a run: what is sent to the model, and how it is made shorter."""
