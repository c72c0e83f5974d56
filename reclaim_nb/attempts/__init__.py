"""One attempt, from card to executed notebook: limits, meter, session, engine, resume."""
