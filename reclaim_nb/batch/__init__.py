"""Many attempts: a plan as data, and what carries it out on one machine or many. Files say what is done."""
