"""The harness: it drives a charge service through the worst order of events and judges it."""
