"""The mesh engine: animates a face by warping its own pixels, driven by the 468-point face mesh.

Three layers are warped by smooth displacement fields and joined along exact curves: what lies above the mouth line,
what lies below it, and the inner mouth between them; closing lids are a further layer over the eyes. Everything
works on planar YUV 4:2:0 in place. No network, no file and no clock belongs here.

Coordinates: x to the right, y down, pixels of the frame, pixel centres at whole numbers. Fields live on a grid of
square cells over ``state.region``; a field holds for each cell centre the displacement in pixels.
"""
