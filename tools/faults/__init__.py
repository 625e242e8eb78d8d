"""Faults, tried and counted: what breaks while a lake is written, in what it is written from, or in
the lake itself, and whether anything is lost by it."""
