"""A charge service that charges once: the positive control, and an example to copy.

It is an ordinary service. It speaks HTTP and SQL and has never heard of the harness.
Start reading at ``charging.py``; the guarantees are in ``schema.py``.
"""
