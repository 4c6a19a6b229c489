// The words over the marks, and the score bars beside them, as one SVG that is kept and changed in
// place. All looks are attributes, so that a saved picture has them too.
const Overlay = (() => {
  // As many children of a group as there are items, each told what it is; untouched where nothing changed.
  function each(group, tag, items, describe) {
    while (group.childElementCount > items.length) group.lastElementChild.remove();
    while (group.childElementCount < items.length) group.append(Format.svg(tag));
    items.forEach((item, i) => {
      const { words, ...attributes } = describe(item);
      const node = group.children[i];
      for (const [name, value] of Object.entries(attributes)) {
        if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
      }
      if (words !== undefined) Format.write(node, words);
    });
  }

  function mount(parent) {
    const groups = Object.fromEntries(["rules", "bars", "words", "ring"].map((name) => [name, Format.svg("g")]));
    const svg = Format.svg("svg", { class: "sp-overlay", "aria-hidden": "true" });
    svg.append(...Object.values(groups));
    parent.append(svg);

    function draw(round, geometry, colours) {
      for (const [name, value] of [["width", geometry.width], ["height", geometry.height], ["font-family", colours.font]]) {
        if (svg.getAttribute(name) !== String(value)) svg.setAttribute(name, value);
      }
      const bars = round.forks.length ? barsOf(round, geometry) : [];
      each(groups.rules, "line", bars.length ? rules(geometry, colours) : [], (rule) => rule);
      each(groups.bars, "rect", bars, (bar) => ({
        ...bar.box, fill: bar.won ? colours.accepted : colours.hollow, stroke: bar.won ? colours.accepted : colours.rejected, "stroke-width": 2,
      }));
      const all = [...headings(geometry, bars.length > 0), ...labels(round, geometry), ...bars.map((bar) => bar.label), ...tau(geometry, bars.length > 0)];
      each(groups.words, "text", all, (word) => ({
        x: word.x, y: word.y, "font-size": word.size, "font-weight": word.bold ? 700 : 400, "text-anchor": word.anchor || "middle",
        fill: word.quiet ? colours.muted : colours.ink, words: word.words,
        // A halo, which costs as much again as the words, only where an edge may run behind them.
        stroke: geometry.narrow ? colours.surface : "none", "stroke-width": 4, "paint-order": "stroke", "stroke-linejoin": "round",
      }));
    }

    function ring(spot, colours) {
      each(groups.ring, "circle", spot ? [spot] : [], ([cx, cy]) => ({ cx, cy, r: 15, fill: "none", stroke: colours && colours.focus, "stroke-width": 3 }));
    }

    return { draw, ring, svg };
  }

  const columnName = (d) => (d === 0 ? TEXT.col_root : d === 1 ? TEXT.col_first : Format.fill(TEXT.col_deeper, { n: d - 1 }));

  function headings(geometry, hasBars) {
    if (geometry.head === null) return [];
    const columns = Array.from({ length: geometry.depth + 1 }, (_, d) => ({ x: geometry.at(d, 0)[0], words: columnName(d) }));
    if (hasBars) columns.push({ x: geometry.bars.zero, words: TEXT.col_score, anchor: "start" });
    return columns.map((column) => ({ ...column, y: geometry.head, size: 13, quiet: true }));
  }

  function labels(round, geometry) {
    const all = [{ status: "root", text: round.root_text }, ...round.nodes], firsts = round.nodes.filter((node) => node.depth === 1);
    return all.flatMap((node, i) => {
      const status = RunNotes.status(round, node), spot = geometry.spots[i], lost = status === "rejected", root = status === "root";
      // Where paths stand side by side on a phone, only the accepted one has room for words, and an open question for numbers.
      const crowded = geometry.loserChars === 0 && (lost || status === "pending");
      if (!spot || (crowded && (lost || node.depth > 1))) return [];
      const half = Figure.SIZE[status] / 2, middle = spot[1] + geometry.font * 0.35;
      const place = geometry.narrow ? { x: spot[0] + half + 4, y: middle, anchor: "start" }
        : root ? { x: spot[0] - half - 5, y: middle, anchor: "end" } : { x: spot[0], y: spot[1] - half - 8 };
      return [{ ...place, size: geometry.font, bold: !lost, quiet: lost, words: crowded ? String(firsts.indexOf(node) + 1) : Format.short(node.text, root ? geometry.rootChars : geometry.chars) }];
    });
  }

  function barsOf(round, geometry) {
    const { zero, full, thick } = geometry.bars;
    const index = new Map(round.nodes.map((node, i) => [node.id, i + 1]));
    return round.forks.flatMap((fork, i) => {
      const spot = geometry.spots[index.get(fork.nodes[0])];
      if (!spot) return [];
      const won = i === round.chosen, long = full * Math.max(0, Math.min(1, fork.score ?? 0));
      const value = fork.score === null ? TEXT.no_score : Format.score(fork.score, geometry.tau);
      const word = { words: `${value} ${won ? "✓" : "✗"}`, bold: won, quiet: !won };
      return [geometry.narrow ? {
        won, box: { x: spot[0] - thick / 2, y: zero - long, width: thick, height: long }, label: { ...word, x: spot[0], y: zero - long - 5, size: 12 },
      } : {
        won, box: { x: zero, y: spot[1] - thick / 2, width: long, height: thick }, label: { ...word, x: beside(zero + long, zero + full * geometry.tau), y: spot[1] + 5.5, size: 16, anchor: "start" },
      }];
    });
  }

  // Where a score stands: after its bar, or after the tau line where that would run through it.
  const SCORE_PX = 60, GAP_PX = 7;
  const beside = (end, tau) => (end < tau && tau < end + SCORE_PX ? tau : end) + GAP_PX;

  function rules(geometry, colours) {
    const { zero, full, from, to } = geometry.bars;
    const rule = (at, looks) => (geometry.narrow ? { x1: from, x2: to, y1: at, y2: at, ...looks } : { x1: at, x2: at, y1: from, y2: to, ...looks });
    const sign = geometry.narrow ? -1 : 1;
    return [
      rule(zero, { stroke: colours.line, "stroke-width": 1 }),
      rule(zero + sign * full * geometry.tau, { stroke: colours.ink, "stroke-width": 2, "stroke-dasharray": "5 3" }),
    ];
  }

  function tau(geometry, hasBars) {
    const { zero, full, from, to } = geometry.bars;
    const word = { words: `tau ${geometry.tau.toFixed(2)}`, size: 14, bold: true };
    if (!hasBars) return [];
    if (geometry.narrow) return [{ ...word, x: to, y: zero - full * geometry.tau - 5, anchor: "end" }];
    return [{ ...word, x: zero + full * geometry.tau, y: from - 6 }];
  }

  return { mount };
})();
