// Passes of the whole model a round spends, and tokens it can win at most: bars for greedy, for
// drafting with the model itself, and for a cheap draft. Counting, not measuring, and it says so;
// what the cheap draft costs beside the pass is what it took in the tour's run, `draft` of a pass.
const Arithmetic = (() => {
  const { el } = Format;

  function mount(parent, start, draft) {
    const list = el("ul", { class: "sp-bars is-wide" });
    const said = el("p", { class: "sp-lesson-result" });
    const values = { ...start };
    const slider = (name, low, high) => {
      const shown = el("output", {}, String(values[name]));
      const input = el("input", { type: "range", min: String(low), max: String(high), step: "1", value: String(values[name]), class: "sp-range" });
      input.addEventListener("input", () => { values[name] = Number(input.value); Format.write(shown, input.value); draw(); });
      return el("label", { class: "sp-field is-range" }, el("span", { class: "sp-name" }, TEXT[`knob_${name}`]), input, shown);
    };
    parent.append(el("div", { class: "sp-form is-narrow" }, slider("k", 1, 8), slider("m", 0, 8)), list, said);

    function draw() {
      const { k, m } = values, passes = m + 1, most = Math.max(passes, 1 + draft);
      const pair = (n, tokens) => Format.fill(TEXT.sum_pair, { passes: Format.fill(n === 1 ? TEXT.passes_one : TEXT.passes_many, { n }), tokens: Format.tokens(tokens) });
      const bar = (name, value, kind, words, more) => Bars.bar({ name, share: value / most, words, kind, more: more && more / most });
      list.replaceChildren(
        bar(TEXT.sum_greedy, 1, "greedy", TEXT.sum_greedy_words),
        bar(TEXT.sum_full, passes, "fallback", pair(passes, passes)),
        bar(TEXT.sum_cheap, 1, "accepted", pair((1 + draft).toFixed(2), m + 2), draft));
      Format.write(said, Format.fill(TEXT.sum_words, { k, m, passes, nodes: k * (m + 1), tokens: m + 2 }));
    }
    draw();
  }
  return { mount };
})();
