"""Calibration: from a fork's feature to how likely the fork is the model's own text."""

from __future__ import annotations

import math

import torch

from ..lens import Calibration


def auc(features: list[float], agrees: list[bool]) -> float:
    """Chance that an agreeing fork's feature exceeds a disagreeing one's, ties counted half.

    The Mann-Whitney statistic, from ranks. NaN where one of the two kinds is missing.
    """
    good = sum(agrees)
    bad = len(agrees) - good
    if not good or not bad:
        return math.nan
    order = torch.tensor(features, dtype=torch.float64)
    _, group, counts = torch.unique(order, return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    rank = (last - (counts.double() - 1) / 2)[group]
    rank_sum = rank[torch.tensor(agrees)].sum().item()
    return (rank_sum - good * (good + 1) / 2) / (good * bad)


def fit_logistic(features: list[float], agrees: list[bool]) -> tuple[float, float]:
    """(slope, offset) of the likeliest sigmoid, by Newton's method on the standardised feature.

    Platt 1999, with his smoothed targets, so that separable data keeps a finite slope.
    """
    x = torch.tensor(features, dtype=torch.float64)
    mean, spread = x.mean(), x.std().clamp_min(1e-9)
    x = (x - mean) / spread
    good = sum(agrees)
    bad = len(agrees) - good
    y = torch.where(torch.tensor(agrees), (good + 1) / (good + 2), 1 / (bad + 2)).double()
    design = torch.stack([x, torch.ones_like(x)], dim=1)
    w = torch.zeros(2, dtype=torch.float64)
    for _ in range(50):
        p = (design @ w).sigmoid()
        gradient = design.T @ (p - y)
        hessian = (design * (p * (1 - p))[:, None]).T @ design + 1e-9 * torch.eye(2, dtype=torch.float64)
        step = torch.linalg.solve(hessian, gradient)
        w = w - step
        if step.abs().max() < 1e-9:
            break
    slope = (w[0] / spread).item()
    return slope, (w[1] - w[0] * mean / spread).item()


def calibrate(fit: list[tuple[float, bool]], held_out: list[tuple[float, bool]]) -> Calibration:
    """Fit the sigmoid on one set of (feature, agrees) and measure the AUC on another."""
    slope, offset = fit_logistic([f for f, _ in fit], [a for _, a in fit])
    # Measured on the score as it will be used, so a falling sigmoid counts for what it does.
    scores = [slope * f + offset for f, _ in held_out]
    agrees = [a for _, a in held_out]
    return Calibration(slope, offset, auc(scores, agrees), forks=len(agrees), agreeing=sum(agrees))
