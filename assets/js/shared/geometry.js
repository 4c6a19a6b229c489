// Where everything of a drawn round stands, in pixels. Pure: (round, layout, view) in; `view` holds
// {width, narrow, lanes, columns}. Marks (figure.js) and words (overlay.js) both stand by it.
//
// Wide: depth runs left to right, lanes run down, score bars stand at the right.
// Narrow: depth runs down, lanes across, score bars stand at the bottom.
const Geometry = (() => {
  const LANE_PX = 60, CLOSE_LANE_PX = 34, FULL_PX = 400, HEAD_PX = 36, STEP_PX = 60, NARROW_BARS_PX = 96;
  const TREE_SHARE = 0.76, BARS_FROM = 0.8, BARS_SHARE = 0.13, BAR_LANES = 0.34, NARROW_TOP = 1.35, EDGE_PX = 4;

  // Few lanes stand far apart, as a room can read them; many stand close, so that a tree stays on the screen.
  const lanePx = (lanes) => Math.max(CLOSE_LANE_PX, Math.min(LANE_PX, FULL_PX / lanes));

  // The most lanes and the deepest column of a whole run's layouts.
  function most(layouts) {
    const drawn = layouts.filter((layout) => layout && layout.length);
    const depth = (layout) => Math.max(...layout.filter(Boolean).map((spot) => spot[0]));
    return [Math.max(1, ...drawn.map(lanesOf)), Math.max(1, ...drawn.map(depth))];
  }

  const lanesOf = (layout) => Math.max(...layout.filter(Boolean).map((spot) => Math.round(spot[1]))) + 1;

  function of(round, layout, view) {
    const lanes = lanesOf(layout);
    const depth = Math.max(1, view.columns || 0, ...layout.filter(Boolean).map((spot) => spot[0]));
    const made = (view.narrow ? narrow : wide)(view.width, lanes, depth, Math.max(3, lanes, view.lanes || 0));
    return {
      ...made, depth, width: view.width, narrow: view.narrow, tau: round.tau,
      // Node by node, the root first; null for one that is not drawn.
      spots: layout.map((spot) => spot && made.at(spot[0], spot[1])),
    };
  }

  function wide(width, lanes, depth, rows) {
    const height = HEAD_PX + rows * lanePx(rows) + 16, inner = width - 2 * EDGE_PX;
    const column = (inner * TREE_SHARE) / (depth + 1.3), row = (height - HEAD_PX) / (rows + 0.35);
    // A round with fewer forks than K stands at the top, not stretched.
    const at = (d, lane) => [EDGE_PX + column * (d + 0.8), HEAD_PX + row * (lane + 0.8)];
    return {
      height, at, head: 16,
      font: lanePx(rows) < 48 ? 15 : 18,
      chars: Math.max(4, Math.min(14, Math.floor((column * 0.92) / 10.6))), loserChars: null,
      rootChars: Math.max(4, Math.min(10, Math.floor((column * 0.66) / 11))),
      bars: { zero: EDGE_PX + inner * BARS_FROM, full: inner * BARS_SHARE, thick: BAR_LANES * row, from: at(0, -0.5)[1], to: at(0, lanes - 0.5)[1] },
    };
  }

  function narrow(width, lanes, depth) {
    const height = HEAD_PX + NARROW_BARS_PX + (depth + 1) * STEP_PX, inner = height - 12;
    const column = (width - 2 * EDGE_PX) / (lanes + 0.4), row = (inner * (1 - NARROW_BARS_PX / height - 0.06)) / (depth + 0.75);
    const font = column < 70 ? 12 : 13;
    const chars = column < 44 ? 6 : Math.max(2, Math.floor((column - 26) / (font * 0.6)));
    const zero = 8 + inner;
    return {
      height, font, chars, rootChars: 12, head: null,
      // Side by side on a phone losers have no room for words; pointing at one still tells.
      loserChars: column < 44 ? 0 : null,
      at: (d, lane) => [EDGE_PX + column * (lane + 0.45), 8 + row * (d + 0.4)],
      bars: { zero, full: (inner * (NARROW_BARS_PX / height - 0.03)) / NARROW_TOP, thick: BAR_LANES * column, from: EDGE_PX, to: width - EDGE_PX },
    };
  }

  return { of, lanesOf, most };
})();
