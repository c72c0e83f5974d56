"""The Jupyter server extension: what is on disk, as REST and one websocket, for the lab extension."""

from __future__ import annotations


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    from reclaim_nb.server.extension import ReclaimServer

    return [{"module": "reclaim_nb.server", "app": ReclaimServer}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "../labextension", "dest": "@reclaim-nb/lab"}]
