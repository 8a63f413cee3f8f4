"""Restore omp's settings from the entries on a path: models by role, service tiers, mode, rules (omp 18.2.3)."""

from __future__ import annotations

from sessionbrowse.format.entries import ModeChange, ModelChange, ServiceTierChange, ThinkingLevelChange, TtsrInjection
from sessionbrowse.format.json_value import Json
from sessionbrowse.model.context.message import ModelRef, OmpSettings, last_of_type
from sessionbrowse.model.session.session import Session

_TIERS = frozenset({"auto", "default", "flex", "scale", "priority"})
_FAMILIES = ("openai", "anthropic", "google")
# Older versions of omp stored one word for all service tiers. Maps this word to a tier for each provider.
_OLD_TIERS = {
    "priority": dict.fromkeys(_FAMILIES, "priority"),
    "openai-only": {"openai": "priority"},
    "claude-only": {"anthropic": "priority"},
} | {tier: {"openai": tier} for tier in ("auto", "default", "flex", "scale")}


def thinking(session: Session, path: list[int]) -> tuple[str, str | None]:
    """Return the model's thinking level at the end of a path, and the level that the user configured, e.g. `auto`."""
    place = last_of_type(session, path, "thinking_level_change")
    change = session.entry(path[place]) if place is not None else None
    if not isinstance(change, ThinkingLevelChange):
        return "off", None
    level = "off" if change.thinking_level is None else change.thinking_level
    return level, change.thinking_level if change.configured is None else change.configured


def restore(session: Session, path: list[int]) -> OmpSettings:
    """Return the settings that omp has at the end of a path, restored from the entries on the path."""
    tier_place = last_of_type(session, path, "service_tier_change")
    tier = session.entry(path[tier_place]) if tier_place is not None else None
    mode_place = last_of_type(session, path, "mode_change")
    mode = session.entry(path[mode_place]) if mode_place is not None else None
    rules: dict[str, None] = {}
    for index in path:
        if session.envelopes[index].type == "ttsr_injection":
            injection = session.entry(index)
            if isinstance(injection, TtsrInjection):
                rules |= {rule: None for rule in injection.injected_rules or () if isinstance(rule, str)}
    return OmpSettings(
        models=_models(session, path),
        service_tier=_tiers(tier.service_tier) if isinstance(tier, ServiceTierChange) else None,
        mode=(mode.mode or "none") if isinstance(mode, ModeChange) else "none",
        mode_data=mode.data if isinstance(mode, ModeChange) else None,
        injected_ttsr_rules=tuple(rules),
        configured_thinking_level=thinking(session, path)[1],
    )


def _models(session: Session, path: list[int]) -> dict[str, str]:
    """Map omp's roles for models, such as "default", to the models that are set for them at the end of a path.

    If no model change on the path sets the role "default", the model of the last answer has this role.
    """
    models: dict[str, str] = {}
    inferred: str | None = None
    for index in path:
        kind = session.envelopes[index]
        if kind.type == "model_change":
            change = session.entry(index)
            if isinstance(change, ModelChange) and change.model:
                models["default" if change.role is None else change.role] = change.model
        elif kind.type == "message" and kind.role == "assistant":
            inferred = "/".join([part for part in (kind.provider, kind.model) if part]) or inferred
    if inferred is not None:
        models.setdefault("default", inferred)
    return models


def model_ref(model: str | None) -> ModelRef | None:
    """Split a model named `provider/id` at the first slash; a name without slash has no provider."""
    if model is None:
        return None
    provider, slash, model_id = model.partition("/")
    return ModelRef(provider, model_id) if slash else ModelRef(None, model)


def _tiers(value: Json) -> dict[str, str] | None:
    if isinstance(value, dict):
        named = {family: tier for family in _FAMILIES if isinstance(tier := value.get(family), str) and tier in _TIERS}
        return named or None
    return _OLD_TIERS.get(value) if isinstance(value, str) else None
