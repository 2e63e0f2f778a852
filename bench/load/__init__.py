"""The server under load: streams at the pace of a model, from an upstream to many clients."""
