"""Does an agent speak the protocol? A black box is asked over HTTP, and judged rule by rule."""
