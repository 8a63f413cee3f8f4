"""The sizes of the context windows of models, in tokens, as pi 1.5.2 lists them.

The sizes are those that the maker of a model offers. Other providers of the model may have other limits.
"""

from __future__ import annotations

_MILLION = 1_000_000

_BY_MAKER: dict[str, tuple[tuple[str, int], ...]] = {
    "anthropic": (
        ("claude-opus-4-6", _MILLION),
        ("claude-opus-4-7", _MILLION),
        ("claude-opus-4-8", _MILLION),
        ("claude-opus-5", _MILLION),
        ("claude-sonnet-4-5", _MILLION),
        ("claude-sonnet-4-6", _MILLION),
        ("claude-sonnet-5", _MILLION),
        ("claude-fable-5", _MILLION),
        ("claude-", 200_000),
    ),
    "openai": (
        ("gpt-4.1", 1_047_576),
        ("gpt-4o", 128_000),
        ("gpt-5.4-mini", 400_000),
        ("gpt-5.4-nano", 400_000),
        ("gpt-5.4-pro", 1_050_000),
        ("gpt-5.5-pro", 1_050_000),
        ("gpt-5.4", 272_000),
        ("gpt-5.5", 272_000),
        ("gpt-5.6", 272_000),
        ("gpt-5", 400_000),
        ("gpt-6", 272_000),
        ("o1", 200_000),
        ("o3", 200_000),
        ("o4", 200_000),
    ),
    "google": (("gemini-2.5-", 1_048_576), ("gemini-3", 1_048_576)),
    "xai": (("grok-4.3", _MILLION), ("grok-4.", 500_000)),
    "zai": (("glm-4.7", 204_800), ("glm-5-turbo", 200_000), ("glm-5.", _MILLION)),
    "moonshotai": (("kimi-k2.", 262_144), ("kimi-k3", 1_048_576)),
    "deepseek": (("deepseek-flash", _MILLION), ("deepseek-v4", _MILLION)),
}
_SMALLER = (("-chat-latest", 128_000), ("-codex-spark", 128_000), ("computer-use", 131_072), ("-live-", 131_072))
_SAME_AS = {"openai-codex": "openai"}


def context_window(provider: str | None, model_id: str | None) -> int | None:
    """Return the size of a model's context window in tokens; None if the size is not known."""
    if provider is None or model_id is None:
        return None
    for piece, tokens in _SMALLER:
        if piece in model_id:
            return tokens
    listed = _BY_MAKER.get(_SAME_AS.get(provider, provider), ())
    return next((tokens for beginning, tokens in listed if model_id.startswith(beginning)), None)
