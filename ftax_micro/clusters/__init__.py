"""Cluster engines by name. Each is one file; a new one is a file beside it and a line here."""

from __future__ import annotations

from ftax_micro.registry import Registry

ENGINES = Registry("engine", {"ray": "ftax_micro.clusters.ray:RayCluster"})
