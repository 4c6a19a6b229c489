"""Calibration: from a fork's features to how likely the fork is the model's own text."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from ..lens import Calibration


@dataclass
class JudgedFork:
    """One fork met while decoding: its features, and whether it is the model's own text."""

    features: list[float]
    agrees: bool


def auc(scores: list[float], agrees: list[bool]) -> float:
    """Chance that an agreeing fork's score exceeds a disagreeing one's, ties counted half.

    The Mann-Whitney statistic, from ranks. NaN where one of the two kinds is missing.
    """
    good = sum(agrees)
    bad = len(agrees) - good
    if not good or not bad:
        return math.nan
    order = torch.tensor(scores, dtype=torch.float64)
    _, group, counts = torch.unique(order, return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    rank = (last - (counts.double() - 1) / 2)[group]
    rank_sum = rank[torch.tensor(agrees)].sum().item()
    return (rank_sum - good * (good + 1) / 2) / (good * bad)


def fit_logistic(features: list[list[float]], agrees: list[bool]) -> tuple[list[float], float]:
    """(slopes, offset) of the likeliest sigmoid, by Newton's method on standardised features.

    Platt 1999, with his smoothed targets, so that separable data keeps finite slopes.
    """
    x = torch.tensor(features, dtype=torch.float64)
    mean, spread = x.mean(dim=0), x.std(dim=0).clamp_min(1e-9)
    x = (x - mean) / spread
    good = sum(agrees)
    bad = len(agrees) - good
    y = torch.where(torch.tensor(agrees), (good + 1) / (good + 2), 1 / (bad + 2)).double()
    design = torch.cat([x, torch.ones(len(x), 1, dtype=torch.float64)], dim=1)
    w = torch.zeros(design.shape[1], dtype=torch.float64)
    for _ in range(50):
        p = (design @ w).sigmoid()
        gradient = design.T @ (p - y)
        hessian = (design * (p * (1 - p))[:, None]).T @ design + 1e-6 * torch.eye(len(w), dtype=torch.float64)
        step = torch.linalg.solve(hessian, gradient)
        w = w - step
        if step.abs().max() < 1e-9:
            break
    slopes = w[:-1] / spread
    return slopes.tolist(), (w[-1] - slopes @ mean).item()


def calibrate(fit: list[JudgedFork], held_out: list[JudgedFork]) -> Calibration:
    """Fit the sigmoid on one set of forks and measure the AUC, of the score as used, on another."""
    slopes, offset = fit_logistic([f.features for f in fit], [f.agrees for f in fit])
    calibration = Calibration(slopes, offset, math.nan, len(held_out), sum(f.agrees for f in held_out))
    return replace(calibration, auc=auc([calibration(f.features) for f in held_out], [f.agrees for f in held_out]))
