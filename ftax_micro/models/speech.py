"""Speech encoders in their base sizes, on two seconds of sound at 16 kHz as in the paper."""

from __future__ import annotations

from ftax_micro.models.contract import Family, ModelSpec, Shape
from ftax_micro.models.transformers_spec import audio_inputs, transformers_spec

_SOUND = Shape(audio=32_000)


def _speech(name: str, stem: str, model: str = "", stands_for: str | None = None) -> ModelSpec:
    classes = (model or f"{stem}Model", f"{stem}Config")
    return transformers_spec(
        name, Family.speech, classes, inputs=audio_inputs, shape=_SOUND, stands_for=stands_for
    )


SPECS = (
    _speech("wavlm", "WavLM"),
    _speech("hubert", "Hubert"),
    _speech("wav2vec2", "Wav2Vec2"),
    _speech(
        "speecht5",
        "SpeechT5",
        "models.speecht5.modeling_speecht5.SpeechT5EncoderWithSpeechPrenet",
        stands_for="SpeechT5's encoder with its speech front end, without the decoder",
    ),
)
