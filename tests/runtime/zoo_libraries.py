"""Imported by the fork server of the zoo tests, once for all models: the libraries, and nothing that computes.

torchvision's wheel for CUDA does not import beside a CPU build of torch until the schemas of its operators exist.
"""

from __future__ import annotations

import torch

try:
    import torchvision
except RuntimeError:
    import sys

    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    schemas = torch.library.Library("torchvision", "DEF")
    schemas.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    schemas.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    schemas.define(
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width,"
        " int sampling_ratio, bool aligned) -> Tensor"
    )
    import torchvision  # noqa: F401

import timm  # noqa: F401
import transformers  # noqa: F401
