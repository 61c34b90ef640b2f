"""Which model it is, by content: kept vectors are those of one, and a model trained again has others."""

from __future__ import annotations

import hashlib

from obverse.models import Encoder
from obverse.onnx_model import OnnxModel


def model_digest(encoder: Encoder) -> str:
    """Returns a hash of the encoder: every tensor, and the settings of its modules (pooling and the like).

    It is empty where the weights are out of reach, behind an endpoint: its name must do.
    """
    if encoder.model is None:
        return ""
    if isinstance(encoder.model, OnnxModel):
        return encoder.model.digest
    state = hashlib.blake2b(digest_size=32)
    for name, tensor in sorted(encoder.model.state_dict().items()):
        state.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
        state.update(tensor.float().cpu().contiguous().numpy().tobytes())
    for module in getattr(encoder.model, "modules", tuple)():
        if hasattr(module, "get_config_dict"):
            settings = dict(module.get_config_dict())
            settings.pop("max_seq_length", None)  # the encoder's own limit counts
            state.update(f"{type(module).__name__}{sorted(settings.items())!r}".encode())
    return state.hexdigest()
