// The drawn tree of one round: Plotly.react in place, and pointing at a node by mouse, tap or keys.
const Tree = (() => {
  const NARROW_PX = 700;
  const OPTIONS = { displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: false };

  function mount(parent, onNode) {
    const plot = Format.el("div", { class: "sp-plot" });
    const box = Format.el("div", { class: "sp-tree", tabindex: "0", role: "group", "aria-label": TEXT.tree_help }, plot);
    const empty = Format.el("p", { class: "sp-empty", hidden: true });
    parent.append(box, empty);
    let plotly = null, last = null, drawn = null, chosen = null, lanes = 0, columns = 0, colours = null, width = 0;

    function palette() {
      const style = getComputedStyle(box);
      const names = ["accepted", "rejected", "pending", "bonus", "fallback", "root", "ink", "muted", "line", "hollow", "focus"];
      colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
      colours.font = style.fontFamily;
    }

    // Draw what was asked for last; true when there was something to draw.
    function draw() {
      if (!last) return false;
      const { round, layout } = last;
      const nothing = !round || round.nodes.length === 0 || !layout;
      empty.hidden = !nothing && plotly !== null;
      box.hidden = nothing || plotly === null;
      if (nothing) Format.write(empty, round ? TEXT.no_forks : TEXT.tree_waiting);
      if (nothing || plotly === null) return false;
      if (!colours) palette();
      if (!width) width = box.clientWidth;
      if (!width) return false;  // on a tab that is not open; seen again, it is measured and drawn
      // Room once taken is kept for the run, so that the page below does not move from round to round.
      lanes = Math.max(lanes, Figure.spots(layout).lanes);
      const view = { width, narrow: width < NARROW_PX, lanes, columns, colours, font: colours.font };
      const figure = Figure.build(round, layout, view);
      plotly.react(plot, figure.data, figure.layout, OPTIONS);
      if (drawn === null) listen();
      drawn = { round, layout, view };
      return true;
    }

    function listen() {
      plot.on("plotly_hover", (event) => point(event, false));
      plot.on("plotly_click", (event) => point(event, true));
      plot.on("plotly_unhover", () => chosen === null && select(null));
    }

    function point(event, keep) {
      const hit = event.points.find((p) => p.curveNumber === Figure.NODES);
      if (!hit) return;
      if (keep) chosen = hit.customdata;
      select(hit.customdata);
    }

    // `index` counts the root as 0 and the round's nodes from 1, as the layout does.
    function select(index) {
      if (!drawn) return;
      const spot = index === null ? null : drawn.layout[index];
      const [depth, lane] = spot || [];
      const at = spot ? (drawn.view.narrow ? [lane, depth] : [depth, lane]) : [];
      plotly.restyle(plot, { x: [at.slice(0, 1)], y: [at.slice(1)] }, [Figure.RING]);
      onNode(drawn.round, index, chosen !== null);
    }

    const forward = () => (drawn.view.narrow ? "ArrowDown" : "ArrowRight");
    const backward = () => (drawn.view.narrow ? "ArrowUp" : "ArrowLeft");

    function onKey(event) {
      if (!drawn || event.altKey || event.ctrlKey || event.metaKey) return;
      const next = move(event.key);
      if (next === undefined) return;
      event.preventDefault();
      chosen = next;
      select(next);
    }

    // Along a path with the reading direction, across siblings and forks with the other.
    function move(key) {
      const all = [{ id: 0, parent: -1, depth: 0 }, ...drawn.round.nodes];
      const here = chosen === null ? 0 : chosen;
      const node = all[here];
      if (key === "Escape") return null;
      if (key === "Home") return 0;
      if (key === forward()) {
        const child = all.findIndex((n) => n.parent === node.id);
        return child < 0 ? here : child;
      }
      if (key === backward()) return Math.max(0, all.findIndex((n) => n.id === node.parent));
      const across = drawn.view.narrow ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
      const step = across.indexOf(key);
      if (step < 0) return undefined;
      const level = all.map((n, i) => i).filter((i) => all[i].depth === node.depth && drawn.layout[i]);
      level.sort((a, b) => drawn.layout[a][1] - drawn.layout[b][1]);
      const at = level.indexOf(here) + (step === 0 ? -1 : 1);
      return level[Math.max(0, Math.min(level.length - 1, at))];
    }

    box.addEventListener("keydown", onKey);
    box.addEventListener("blur", () => { chosen = null; select(null); });
    new ResizeObserver(() => {
      if (box.hidden || box.clientWidth === width || !box.clientWidth) return;
      width = box.clientWidth;
      draw();
    }).observe(box);

    // The drawn round as a picture (a data address), with a title and a ground of its own.
    function image(format, title) {
      const { round, layout, view } = drawn;
      const figure = Figure.build(round, layout, view);
      const ground = getComputedStyle(box).getPropertyValue("--surface").trim();
      const height = figure.layout.height + 48;
      const all = { ...figure.layout, height, paper_bgcolor: ground, margin: { ...figure.layout.margin, l: 24, r: 24, t: (figure.layout.margin.t || 0) + 48 }, title: { text: Format.plotly(title), x: 0.01, y: 0.985, yanchor: "top", font: { size: 18, color: colours.ink } } };
      return plotly.toImage({ data: figure.data, layout: all }, { format, width: view.width, height, scale: format === "png" ? 2 : 1 });
    }

    return {
      draw,
      get drawn() { return drawn && plotly ? { round: drawn.round, image } : null; },
      show(round, layout) {
        if (!last || last.round !== round) chosen = null;
        last = { round, layout };
      },
      // The run's K and M set the size, so that nothing moves from round to round.
      expect(k, m) { lanes = k; columns = m + 2; },
      ready(library) { plotly = library; draw(); },
      repaint() { colours = null; draw(); },
      failed() { empty.hidden = false; box.hidden = true; Format.write(empty, TEXT.plot_failed); },
    };
  }
  return { mount };
})();
