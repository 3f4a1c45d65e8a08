"""Orchard's backbones as folders that Hugging Face's transformers reads."""

import os
import shutil


def plain_weights(source, folder):
    """A copy in `folder` of a backbone of Orchard's, whose rows are bytes with a scale each, in float32; other folders as they are."""
    from safetensors.numpy import load_file, save_file

    stored = load_file(os.path.join(source, "model.safetensors"))
    if not any(name.endswith(".scale") for name in stored):
        return source
    shutil.copytree(source, folder, dirs_exist_ok=True)
    scales = {name.removesuffix(".scale"): values for name, values in stored.items() if name.endswith(".scale")}
    plain = {
        name: (values[:, 0, :] * scales[name][:, None] if name in scales else values).astype("float32")
        for name, values in stored.items()
        if not name.endswith(".scale")
    }
    save_file(plain, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    return folder
