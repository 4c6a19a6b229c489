// A round as a Plotly figure: the fork tree, and beside it one score bar a fork against tau.
// Pure: (round, layout, view) in, {data, layout} out. `view` holds {width, narrow, colours}.
//
// Wide: depth runs left to right and lanes run down. Narrow: depth runs down and lanes across.
const Figure = (() => {
  const LANE_PX = 60, CLOSE_LANE_PX = 34, FULL_PX = 400, TOP_PX = 36, STEP_PX = 60, NARROW_BARS_PX = 96;
  const SYMBOL = { pending: "circle", accepted: "circle", rejected: "circle-open", bonus: "triangle-up", fallback: "diamond", root: "square" };
  const SIZE = { pending: 16, accepted: 19, rejected: 14, bonus: 19, fallback: 19, root: 17 };
  const EDGE = {
    pending: { width: 3, dash: "solid" },
    rejected: { width: 2, dash: "6px,5px" }, accepted: { width: 7, dash: "solid" },
    bonus: { width: 4, dash: "2px,3px" }, fallback: { width: 4, dash: "10px,4px" },
  };

  function spots(layout) {
    const drawn = layout.filter(Boolean);
    return {
      lanes: Math.max(...drawn.map((p) => Math.round(p[1]))) + 1,
      depth: Math.max(1, ...drawn.map((p) => p[0])),
    };
  }

  // Few lanes stand far apart, as a room can read them; many stand close, so that a tree stays on the screen.
  const lanePx = (lanes) => Math.max(CLOSE_LANE_PX, Math.min(LANE_PX, FULL_PX / lanes));

  function height(lanes, depth, narrow) {
    return narrow ? TOP_PX + NARROW_BARS_PX + (depth + 1) * STEP_PX : TOP_PX + Math.max(3, lanes) * lanePx(lanes) + 16;
  }

  // From parent to child: level at both ends, so that no edge crosses a label above a node.
  function edge(a, b) {
    if (a[1] === b[1]) return [a, b];
    const points = [a];
    const bend = 0.52, steps = 14;
    for (let i = 0; i <= steps; i++) {
      const t = i / steps, s = t * t * t * (t * (6 * t - 15) + 10);
      points.push([a[0] + 0.04 + bend * t, a[1] + (b[1] - a[1]) * s]);
    }
    points.push(b);
    return points;
  }

  // Trace by trace, in drawing order: the accepted path lies over the losers.
  function edges(round, layout, view) {
    const at = new Map([[0, layout[0]]]);
    round.nodes.forEach((node, i) => at.set(node.id, layout[i + 1]));
    return Object.keys(EDGE).map((status) => {
      const x = [], y = [];
      for (const node of round.nodes) {
        const a = at.get(node.parent), b = at.get(node.id);
        if (node.status !== status || !a || !b) continue;
        for (const [depth, lane] of edge(a, b)) {
          x.push(view.narrow ? lane : depth);
          y.push(view.narrow ? depth : lane);
        }
        x.push(null);
        y.push(null);
      }
      return {
        type: "scatter", mode: "lines", x, y, hoverinfo: "skip",
        line: { color: view.colours[status], ...EDGE[status], simplify: false },
      };
    });
  }

  function nodes(round, layout, view, room) {
    const all = [{ status: "root", text: round.root_text }, ...round.nodes];
    const keep = all.map((node, i) => i).filter((i) => layout[i]);
    const label = (node) => {
      if (node.status === "rejected" && room.losers === 0) return "";
      const text = Format.plotly(Format.short(node.text, node.status === "root" ? room.root : room.chars));
      return node.status === "rejected" ? text : `<b>${text}</b>`;
    };
    const depth = keep.map((i) => layout[i][0]), lane = keep.map((i) => layout[i][1]);
    const status = keep.map((i) => all[i].status);
    return {
      type: "scatter", mode: "markers+text", hoverinfo: "none", cliponaxis: false,
      x: view.narrow ? lane : depth, y: view.narrow ? depth : lane, customdata: keep,
      text: keep.map((i) => label(all[i])), textposition: view.narrow ? "middle right" : status.map((s) => (s === "root" ? "middle left" : "top center")),
      textfont: { size: room.font, color: status.map((s) => (s === "rejected" ? view.colours.muted : view.colours.ink)) },
      marker: {
        symbol: status.map((s) => SYMBOL[s]), size: status.map((s) => SIZE[s]), opacity: 1,
        color: status.map((s) => view.colours[s]), line: { width: status.map((s) => (s === "rejected" || s === "pending" ? 2 : 0)), color: status.map((s) => (s === "pending" ? view.colours.ink : view.colours.rejected)) },
      },
    };
  }

  function bars(round, layout, view) {
    const index = new Map(round.nodes.map((node, i) => [node.id, i + 1]));
    const rows = round.forks.map((fork, i) => ({ fork, i, spot: layout[index.get(fork.nodes[0])] })).filter((r) => r.spot);
    const lane = rows.map((r) => r.spot[1]);
    const score = rows.map((r) => r.fork.score ?? 0);
    const won = rows.map((r) => r.i === round.chosen);
    const text = rows.map((r, n) => {
      const value = r.fork.score === null ? TEXT.no_score : r.fork.score.toFixed(2);
      return won[n] ? `<b>${value} ✓</b>` : `${value} ✗`;
    });
    return {
      type: "bar", orientation: view.narrow ? "v" : "h", hoverinfo: "skip", cliponaxis: false,
      x: view.narrow ? lane : score, y: view.narrow ? score : lane,
      xaxis: view.narrow ? "x" : "x2", yaxis: view.narrow ? "y2" : "y",
      width: 0.34, constraintext: "none", text, textposition: "outside", textangle: 0,
      textfont: { size: view.narrow ? 12 : 16, color: won.map((w) => (w ? view.colours.ink : view.colours.muted)) },
      marker: {
        color: won.map((w) => (w ? view.colours.accepted : view.colours.hollow)),
        line: { width: 2, color: won.map((w) => (w ? view.colours.accepted : view.colours.rejected)) },
      },
    };
  }

  const ring = (view) => ({
    type: "scatter", mode: "markers", x: [], y: [], hoverinfo: "skip", cliponaxis: false,
    marker: { symbol: "circle-open", size: 30, color: view.colours.focus, line: { width: 3 } },
  });

  function build(round, layout, view) {
    const { lanes, depth: own } = spots(layout);
    const depth = Math.max(own, view.columns || 0);
    const rows = Math.max(view.lanes || 0, lanes);
    const tall = height(rows, depth, view.narrow);
    const column = view.narrow ? view.width / (lanes + 0.4) : (view.width * 0.76) / (depth + 1.3);
    const room = view.narrow
      ? narrowRoom(column)
      : { font: lanePx(rows) < 48 ? 15 : 18, chars: Math.max(4, Math.min(14, Math.floor((column * 0.92) / 10.6))), root: Math.max(4, Math.min(10, Math.floor((column * 0.66) / 11))) };
    return {
      data: [...edges(round, layout, view), bars(round, layout, view), nodes(round, layout, view, room), ring(view)],
      layout: view.narrow ? narrowLayout(round, view, lanes, depth, tall) : wideLayout(round, view, lanes, depth, tall),
    };
  }

  function narrowRoom(column) {
    const font = column < 70 ? 12 : 13;
    const chars = Math.max(2, Math.floor((column - 26) / (font * 0.6)));
    // Side by side on a phone losers have no room for words; pointing at one still tells.
    return { font, chars: column < 44 ? 6 : chars, losers: column < 44 ? 0 : chars, root: 12 };
  }

  function base(round, view, tall) {
    return {
      height: tall, width: view.width, showlegend: false, dragmode: false, hovermode: "closest", hoverdistance: 24,
      uirevision: "tree", paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: view.font, color: view.colours.muted, size: 13 }, bargap: 0,
    };
  }

  const quiet = { showgrid: false, zeroline: false, showline: false, fixedrange: true, ticks: "" };
  const columnName = (d) => (d === 0 ? TEXT.col_root : d === 1 ? TEXT.col_first : Format.fill(TEXT.col_deeper, { n: d - 1 }));

  function depthTicks(depth) {
    const tickvals = Array.from({ length: depth + 1 }, (_, d) => d);
    return { tickvals, ticktext: tickvals.map(columnName) };
  }

  const tauLabel = (round) => `<b>tau ${round.tau.toFixed(2)}</b>`;

  function wideLayout(round, view, lanes, depth, tall) {
    // A round with fewer forks than K stands at the top, not stretched.
    const bottom = Math.max(3, lanes, view.lanes) - 0.45;
    const hasBars = round.forks.length > 0;
    return {
      ...base(round, view, tall), margin: { l: 4, r: 4, t: TOP_PX, b: 0 },
      xaxis: { ...quiet, domain: [0, 0.76], range: [-0.8, depth + 0.5], side: "top", ...depthTicks(depth) },
      xaxis2: {
        ...quiet, domain: [0.8, 0.93], range: [0, 1], side: "top", tickvals: [0, 0.5], ticktext: ["0", TEXT.col_score],
        visible: hasBars, anchor: "y",
      },
      yaxis: { ...quiet, range: [bottom, -0.8], showticklabels: false },
      shapes: hasBars ? [
        line("x2", "y", [0, 0], [-0.5, lanes - 0.5], view.colours.line, 1),
        line("x2", "y", [round.tau, round.tau], [-0.5, lanes - 0.5], view.colours.ink, 2, "5px,3px"),
      ] : [],
      annotations: hasBars ? [label(tauLabel(round), "x2", "paper", round.tau, 1, view, { yanchor: "bottom", yshift: 4 })] : [],
    };
  }

  function narrowLayout(round, view, lanes, depth, tall) {
    const share = NARROW_BARS_PX / tall;
    return {
      ...base(round, view, tall), margin: { l: 4, r: 4, t: 8, b: 4 },
      xaxis: { ...quiet, range: [-0.45, lanes - 0.05], showticklabels: false },
      yaxis: { ...quiet, domain: [share + 0.06, 1], range: [depth + 0.35, -0.4], showticklabels: false },
      yaxis2: { ...quiet, domain: [0, share - 0.03], range: [0, 1.35], showticklabels: false, anchor: "x" },
      shapes: [
        line("paper", "y2", [0, 1], [0, 0], view.colours.line, 1),
        line("paper", "y2", [0, 1], [round.tau, round.tau], view.colours.ink, 2, "5px,3px"),
      ],
      annotations: [label(tauLabel(round), "paper", "y2", 1, round.tau, view, { xanchor: "right", yanchor: "bottom" })],
    };
  }

  const line = (xref, yref, x, y, color, width, dash = "solid") => ({
    type: "line", xref, yref, x0: x[0], x1: x[1], y0: y[0], y1: y[1], line: { color, width, dash }, layer: "above",
  });

  const label = (text, xref, yref, x, y, view, more) => ({
    text, xref, yref, x, y, showarrow: false, font: { size: 14, color: view.colours.ink }, ...more,
  });

  // Where the nodes and the ring stand among the traces: after an edge a status, and the bars.
  const NODES = Object.keys(EDGE).length + 1;
  return { build, height, spots, NODES, RING: NODES + 1 };
})();
