// One heat map a value of tau: a table of K by M whose cells are buttons. A table needs no drawing
// library, reads aloud as it stands, and works by keyboard; the colour only repeats the number.
const Heatmap = (() => {
  const { el } = Format;
  const FIGURES = {
    speedup: { words: (cell) => (Format.exists(cell.speedup) ? `${cell.speedup.toFixed(2)}×` : TEXT.none), value: (cell) => cell.speedup },
    tokens_per_round: { words: (cell) => Format.number(cell.tokens_per_round, 2), value: (cell) => cell.tokens_per_round },
    acceptance_rate: { words: (cell) => Format.percent(cell.acceptance_rate), value: (cell) => cell.acceptance_rate },
    tokens_per_s: { words: (cell) => Format.number(cell.tokens_per_s, 1), value: (cell) => cell.tokens_per_s },
  };

  // Seven steps from paper to blue; speed-ups below 1 go to vermilion instead, with 1 as the middle.
  function shade(name, value, low, high) {
    if (!Format.exists(value)) return "is-none";
    if (name === "speedup") {
      const step = (share) => Math.min(3, Math.ceil(share * 3));
      return value >= 1 ? `is-up-${step((value - 1) / Math.max(0.001, high - 1)) || 1}` : `is-down-${step((1 - value) / Math.max(0.001, 1 - low)) || 1}`;
    }
    return `is-up-${Math.min(3, Math.floor(((value - low) / Math.max(1e-9, high - low)) * 3.999))}`;
  }

  const key = (cell) => `${cell.k}/${cell.m}/${cell.tau}`;

  function table(tau, cells, ks, ms, name, best, apply) {
    const figure = FIGURES[name];
    const values = cells.map(figure.value).filter(Format.exists);
    const low = Math.min(...values), high = Math.max(...values);
    const at = new Map(cells.map((cell) => [key(cell), cell]));
    const button = (cell) => {
      const marks = `${cell === best ? " ★" : ""}${cell.identical ? "" : " ≠"}${cell.settled ? "" : " …"}`;
      const node = el("button", {
        type: "button", class: `sp-cell ${shade(name, figure.value(cell), low, high)}`,
        "aria-label": Format.fill(TEXT.cell_label, { k: cell.k, m: cell.m, tau: cell.tau.toFixed(2), figure: TEXT[`heat_${name}`], value: figure.words(cell), same: cell.identical ? TEXT.cell_same : TEXT.cell_differs }),
      }, figure.words(cell), el("small", { "aria-hidden": "true" }, marks));
      node.addEventListener("click", () => apply(cell));
      return node;
    };
    const row = (k) => el("tr", {}, el("th", { scope: "row" }, `K ${k}`), ...ms.map((m) => {
      const cell = at.get(key({ k, m, tau }));
      return el("td", {}, cell ? button(cell) : el("span", { class: "sp-cell is-empty" }, "·"));
    }));
    return el("table", { class: "sp-heat" }, el("caption", {}, `tau ${tau.toFixed(2)}`),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, ""), ...ms.map((m) => el("th", { scope: "col" }, `M ${m}`)))), el("tbody", {}, ...ks.map(row)));
  }

  function mount(parent, apply) {
    let name = "speedup", last = null;
    const pick = Object.keys(FIGURES).map((figure) => {
      const input = el("input", { type: "radio", name: "spork-heat", value: figure, checked: figure === name });
      input.addEventListener("change", () => { name = figure; if (last) draw(last); });
      return el("label", {}, input, el("span", {}, TEXT[`heat_${figure}`]));
    });
    const box = el("div", { class: "sp-heats" });
    const legend = el("p", { class: "sp-note" }, TEXT.heat_legend);
    parent.append(el("fieldset", { class: "sp-speeds" }, el("legend", {}, TEXT.heat_show), ...pick), box, legend);

    function draw(sweep) {
      last = sweep;
      const cells = [...sweep.cells.values()];
      const rated = cells.filter((cell) => Format.exists(cell.speedup));
      const best = rated.length ? rated.reduce((a, b) => (b.speedup > a.speedup ? b : a)) : null;
      const focused = document.activeElement && box.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
      box.replaceChildren(...sweep.taus.map((tau) => table(tau, cells.filter((cell) => cell.tau === tau), sweep.ks, sweep.ms, name, best, apply)));
      if (focused) for (const node of box.querySelectorAll(".sp-cell")) if (node.getAttribute("aria-label") === focused) node.focus();
    }
    return { draw, key };
  }
  return { mount, key };
})();
