"""A new suite from a new conference: steps over plain files in one folder, a person's signature on every card."""
