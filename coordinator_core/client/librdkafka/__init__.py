"""librdkafka's consumer: its own thread does everything; the application only runs the callbacks.

Source: rdkafka_cgrp.c and rdkafka_assignment.c of 2.x.
"""
