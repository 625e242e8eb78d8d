"""Logs of consumers -> what they say of their membership."""
