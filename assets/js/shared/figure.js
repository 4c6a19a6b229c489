// The marks of a round as a Plotly figure: nodes, and edges by how they fared. Words stand apart, in
// overlay.js: Plotly sets each of them anew for every drawing, which cost more than all the marks.
// Pure: (round, geometry, colours) in, {data, layout} out. The axes are the picture's own pixels.
const Figure = (() => {
  const SYMBOL = { pending: "circle", accepted: "circle", rejected: "circle-open", bonus: "triangle-up", fallback: "diamond", plain: "circle", root: "square" };
  const SIZE = { pending: 16, accepted: 19, rejected: 14, bonus: 19, fallback: 19, plain: 13, root: 17 };
  const EDGE = {
    pending: { width: 3, dash: "solid" },
    rejected: { width: 2, dash: "6px,5px" }, accepted: { width: 7, dash: "solid" },
    bonus: { width: 4, dash: "2px,3px" }, fallback: { width: 4, dash: "10px,4px" }, plain: { width: 3, dash: "solid" },
  };
  const BEND_STEPS = 14;

  // From parent to child: level at both ends, so that no edge crosses a label above a node.
  function edge([ax, ay], [bx, by], narrow) {
    if (narrow ? ax === bx : ay === by) return [[ax, ay], [bx, by]];
    const points = [[ax, ay]];
    for (let i = 0; i <= BEND_STEPS; i++) {
      const t = i / BEND_STEPS, s = t * t * t * (t * (6 * t - 15) + 10), along = 0.04 + 0.52 * t;
      points.push(narrow ? [ax + (bx - ax) * s, ay + (by - ay) * along] : [ax + (bx - ax) * along, ay + (by - ay) * s]);
    }
    points.push([bx, by]);
    return points;
  }

  // Trace by trace, in drawing order: the accepted path lies over the losers.
  function edges(round, geometry, colours) {
    const at = new Map([[0, geometry.spots[0]]]);
    round.nodes.forEach((node, i) => at.set(node.id, geometry.spots[i + 1]));
    return Object.keys(EDGE).map((status) => {
      const x = [], y = [];
      for (const node of round.nodes) {
        const a = at.get(node.parent), b = at.get(node.id);
        if (RunNotes.status(round, node) !== status || !a || !b) continue;
        for (const [px, py] of edge(a, b, geometry.narrow)) { x.push(px); y.push(py); }
        x.push(null);
        y.push(null);
      }
      return {
        type: "scatter", mode: "lines", x, y, cliponaxis: false, visible: x.length > 0,
        line: { color: colours[status], ...EDGE[status], simplify: false },
      };
    });
  }

  function nodes(round, geometry, colours) {
    const status = ["root", ...round.nodes.map((node) => RunNotes.status(round, node))];
    const keep = status.map((_, i) => i).filter((i) => geometry.spots[i]);
    const of = (make) => keep.map((i) => make(status[i]));
    return {
      type: "scatter", mode: "markers", cliponaxis: false,
      x: keep.map((i) => geometry.spots[i][0]), y: keep.map((i) => geometry.spots[i][1]),
      marker: {
        symbol: of((s) => SYMBOL[s]), size: of((s) => SIZE[s]), color: of((s) => colours[s]), opacity: 1,
        line: { width: of((s) => (s === "rejected" || s === "pending" ? 2 : 0)), color: of((s) => (s === "pending" ? colours.ink : colours.rejected)) },
      },
    };
  }

  const axis = (range) => ({ range, visible: false, fixedrange: true });

  function build(round, geometry, colours) {
    return {
      data: [...edges(round, geometry, colours), nodes(round, geometry, colours)],
      layout: {
        width: geometry.width, height: geometry.height, margin: { l: 0, r: 0, t: 0, b: 0 }, showlegend: false, dragmode: false,
        hovermode: false, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        xaxis: axis([0, geometry.width]), yaxis: axis([geometry.height, 0]),
      },
    };
  }

  return { build, SIZE };
})();
