"""An event is known by its id alone, so a fact that is told again under a new id credits again.

The guard was one entry per effect, beside the id. Modelled on report C25
(woocommerce-gateway-stripe #3326): every emission had an id of its own.
"""

from reference_impl.mutants._stores import CreditsByWebhook

VIOLATES = "one_effect_per_event"
CLASS = "K28"
REPORT = "C25"
SHOWN_BY = "events_that_look_alike"


class Mutant(CreditsByWebhook):
    pass  # what a store lacks that credits by webhook and knows events by their ids
