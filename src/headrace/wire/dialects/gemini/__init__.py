"""The Gemini dialect: `streamGenerateContent` of Google AI and Vertex, as SSE or as an array."""
