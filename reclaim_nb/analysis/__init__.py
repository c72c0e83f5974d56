"""Many attempts as frames, statistics, figures and a report. Needs the extra ``reclaim-nb[analysis]``."""
