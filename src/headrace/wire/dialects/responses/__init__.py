"""The OpenAI Responses dialect, also as Azure, xAI, Copilot and Open Responses servers send it."""
