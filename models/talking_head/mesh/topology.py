"""Which of the 468 mesh points are what (MediaPipe's face mesh, Apache-2.0); rows run from picture left to right."""

from __future__ import annotations

from typing import Final

INNER_UPPER_LIP: Final = (78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308)
INNER_LOWER_LIP: Final = (78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308)
OUTER_UPPER_LIP: Final = (61, 185, 40, 39, 37, 0, 267, 269, 270, 409, 291)
OUTER_LOWER_LIP: Final = (61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291)

RIGHT_EYE_UPPER: Final = (33, 246, 161, 160, 159, 158, 157, 173, 133)
RIGHT_EYE_LOWER: Final = (33, 7, 163, 144, 145, 153, 154, 155, 133)
LEFT_EYE_UPPER: Final = (362, 398, 384, 385, 386, 387, 388, 466, 263)
LEFT_EYE_LOWER: Final = (362, 382, 381, 380, 374, 373, 390, 249, 263)

RIGHT_BROW: Final = (46, 53, 52, 65, 55)  # lower edge
LEFT_BROW: Final = (285, 295, 282, 283, 276)

FACE_OVAL: Final = (
    *(10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377),
    *(152, 148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109),
)

CHIN: Final = 152
NOSE_BASE: Final = 2
NOSE_BRIDGE: Final = 168
OUTER_EYE_CORNERS: Final = (33, 263)
CHEEKS: Final = (234, 454)
