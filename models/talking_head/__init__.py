"""A face that speaks: mouth curve, face track, face renderer, composite. A neural renderer replaces one stage."""
