"""Checks over a lake for schedulers: what is wrong with a group now, by the lake's own time."""
