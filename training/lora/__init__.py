"""What a LoRA run is made of: settings, presets, injection, losses, optimisers, encoded pictures, samples, events.

The loop that puts them together is ``training/train_lora.py``. Settings and presets import no torch.
"""
