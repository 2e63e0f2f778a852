"""How a chat is displayed: live in a terminal, or plain."""
