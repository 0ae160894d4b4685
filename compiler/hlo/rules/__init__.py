"""The verifier's rules that do not follow from shape inference, one file per subject."""
