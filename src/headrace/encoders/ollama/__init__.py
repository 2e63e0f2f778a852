"""The request encoders of Ollama: chat, and the generate endpoint."""
