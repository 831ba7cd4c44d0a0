"""Evaluation reports, error analysis, calibration, significance tests."""
