"""Requests written by hand: the forms and corners that a table of kinds does not reach.

All of them live in the namespace `d-hand`. Scenarios are named after what they are about, and asked in this order.
"""
from hand import bodies, ground, kinds, patches, paths, reading, requests, subresources

ALL = (
    ground.space, bodies.numbers, bodies.yaml_forms, bodies.json_forms, requests.media_types, requests.accepts,
    requests.metadata, requests.parameters, patches.json_patches, patches.merge_patches, patches.strategic_patches,
    patches.apply_forms, patches.managed_fields, reading.selectors, reading.event_selectors, reading.continues,
    reading.list_options, subresources.deletions, subresources.evictions, subresources.bindings, subresources.tokens,
    subresources.scales, subresources.namespaces, subresources.approvals, subresources.reviews, subresources.roles,
    paths.paths, paths.old_paths, paths.protobuf_forms, kinds.warnings, kinds.secrets, kinds.services, kinds.pods,
    kinds.status_writes, kinds.nodes, kinds.claims, bodies.kinds_in_other_case, bodies.nulls, bodies.duplicates, bodies.big,
    subresources.users, reading.watches, kinds.discovery,
)


def scenarios():
    return (make() for make in ALL)
