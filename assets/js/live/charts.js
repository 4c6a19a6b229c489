// Over the whole run: how far rounds jumped, and how deep drafts were accepted. Both are recorded
// figures of metrics.py; here they only get their lengths.
const Charts = (() => {
  const { el } = Format;

  function chart(parent, name) {
    const list = el("ul", { class: "sp-bars" });
    const none = el("p", { class: "sp-note" }, TEXT.charts_later);
    parent.append(el("div", { class: "sp-chart" }, el("h3", {}, TEXT[name]), el("p", { class: "sp-note" }, TEXT[`${name}_note`]), list, none));
    return (rows) => {
      none.hidden = Boolean(rows);
      list.replaceChildren(...(rows || []).map(Bars.bar));
    };
  }

  function mount(parent) {
    const jumps = chart(parent, "jumps"), depths = chart(parent, "depths");
    let shown = null;
    return {
      update(state) {
        const metrics = state.finished ? state.finished.metrics : null;
        if (shown === metrics) return;
        shown = metrics;
        const counts = metrics && metrics.jump_histogram ? Object.entries(metrics.jump_histogram) : null;
        const most = counts ? Math.max(...counts.map(([, n]) => n)) : 1;
        jumps(counts && counts.map(([n, count]) => ({ name: Format.tokens(Number(n)), share: count / most, words: String(count) })));
        const by = metrics && metrics.acceptance_by_depth, of = (metrics && metrics.drafted_by_depth) || [];
        const words = (value, n) => (n ? Format.fill(TEXT.depth_share, { share: Format.percent(value), n: Math.round(value * n), of: n }) : Format.percent(value));
        depths(by && by.length ? by.map((value, i) => ({ name: Format.fill(TEXT.depth_n, { n: i + 1 }), share: value, words: words(value, of[i]) })) : null);
      },
    };
  }
  return { mount };
})();
