"""Bulk decoding: a whole Arrow batch of records at a time, columns out of it.

The same layout files as the reference codec's drive it, and the same records come out.  What is
not plain sailing, unreadable bytes above all, is left out and stays with the reference.
"""
