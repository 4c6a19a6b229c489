// The drawn tree of one round: marks by Plotly.react in place, words over them, and pointing at a node by mouse, tap or keys.
const Tree = (() => {
  const NARROW_PX = 700, TITLE_PX = 48;
  // Pointing is ours: the layers Plotly would watch the pointer with are made anew for every drawing.
  const OPTIONS = { staticPlot: true, responsive: false };
  const REACH_PX = 24;

  function mount(parent, onNode) {
    const marks = Format.el("div");
    const plot = Format.el("div", { class: "sp-plot" }, marks);
    const overlay = Overlay.mount(plot);
    const box = Format.el("div", { class: "sp-tree", tabindex: "0", role: "group", "aria-label": TEXT.tree_help }, plot);
    const empty = Format.el("p", { class: "sp-empty", hidden: true });
    parent.append(box, empty);
    let plotly = null, last = null, drawn = null, chosen = null, lanes = 0, columns = 0, colours = null, width = 0;

    function palette() {
      const style = getComputedStyle(box);
      const names = ["accepted", "rejected", "pending", "bonus", "fallback", "plain", "root", "ink", "muted", "line", "hollow", "focus", "surface"];
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
      lanes = Math.max(lanes, Geometry.lanesOf(layout));
      const geometry = Geometry.of(round, layout, { width, narrow: width < NARROW_PX, lanes, columns });
      const figure = Figure.build(round, geometry, colours);
      plotly.react(marks, figure.data, figure.layout, OPTIONS);
      overlay.draw(round, geometry, colours);
      drawn = { round, layout, geometry };
      overlay.ring(chosen === null ? null : geometry.spots[chosen], colours);
      return true;
    }

    // The node nearest to the pointer, if one is near.
    function under(event) {
      if (!drawn) return null;
      const box = plot.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      let found = null, least = REACH_PX;
      drawn.geometry.spots.forEach((spot, i) => {
        const far = spot ? Math.hypot(spot[0] - x, spot[1] - y) : Infinity;
        if (far < least) [found, least] = [i, far];
      });
      return found;
    }

    let over = null;
    function hover(index) {
      if (index === over) return;
      over = index;
      if (index !== null || chosen === null) select(index);
    }
    plot.addEventListener("pointermove", (event) => event.pointerType === "mouse" && hover(under(event)));
    plot.addEventListener("pointerleave", () => hover(null));
    plot.addEventListener("click", (event) => {
      const index = under(event);
      if (index === null) return;
      chosen = index;
      select(index);
    });

    // `index` counts the root as 0 and the round's nodes from 1, as the layout does.
    function select(index) {
      if (!drawn) return;
      overlay.ring(index === null ? null : drawn.geometry.spots[index], colours);
      onNode(drawn.round, index, chosen !== null);
    }

    const forward = () => (drawn.geometry.narrow ? "ArrowDown" : "ArrowRight");
    const backward = () => (drawn.geometry.narrow ? "ArrowUp" : "ArrowLeft");

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
      const across = drawn.geometry.narrow ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
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

    // The drawn round as an SVG of its own, with a title and a ground; null before there is one.
    async function picture(title) {
      if (!drawn || !plotly) return null;
      const { round, geometry } = drawn, font = colours.font;
      const figure = Figure.build(round, geometry, colours);
      const source = await plotly.toImage(figure, { format: "svg", width: geometry.width, height: geometry.height, imageDataOnly: true });
      const height = geometry.height + TITLE_PX, size = { width: geometry.width, height, viewBox: `0 0 ${geometry.width} ${height}` };
      const made = Format.svg("svg", { ...size, "font-family": font });
      const body = Format.svg("g", { transform: `translate(0 ${TITLE_PX})` });
      body.append(new DOMParser().parseFromString(source, "image/svg+xml").documentElement, overlay.svg.cloneNode(true));
      made.append(
        Format.svg("rect", { width: "100%", height: "100%", fill: colours.surface }),
        Format.svg("text", { x: 16, y: 32, "font-size": 18, fill: colours.ink }, title), body);
      return made;
    }

    return {
      draw,
      picture,
      get round() { return drawn && drawn.round; },
      show(round, layout) {
        if (!last || last.round !== round) chosen = over = null;
        last = { round, layout };
      },
      // Room is made before the first drawing, so that nothing moves from round to round.
      expect(forks, depth) { lanes = forks; columns = depth; },
      ready(library) { plotly = library; draw(); },
      repaint() { colours = null; draw(); },
      failed() { empty.hidden = false; box.hidden = true; Format.write(empty, TEXT.plot_failed); },
    };
  }
  return { mount };
})();
