// The gauges. They show recorded figures (metrics.py makes them) and compute none of their own;
// only lengths on the screen are worked out here.
const Gauges = (() => {
  const PHASES = ["propose", "verify", "select", "other"];

  function mount(parent) {
    const { el } = Format;
    const rate = el("strong", { class: "sp-big" }), rateNote = el("span", { class: "sp-note" });
    const fillBar = el("i", { class: "sp-meter-fill" }), tick = el("i", { class: "sp-meter-tick" });
    const meter = el("div", { class: "sp-meter", role: "meter", "aria-label": TEXT.rate, "aria-valuemin": "0" }, fillBar, tick);
    const speed = el("strong", { class: "sp-big" }), speedNote = el("span", { class: "sp-note" });
    const small = ["acceptance", "jump", "per_round"].map((name) => {
      const value = el("strong", { class: "sp-mid" });
      const box = el("div", { class: "sp-figure" }, el("span", { class: "sp-name" }, TEXT[name]), value, el("span", { class: "sp-note" }, TEXT[`${name}_note`]));
      return { value, box };
    });
    const costNote = el("span", { class: "sp-note" });
    const parts = PHASES.map((name) => el("i", { class: `sp-cost-part is-${name}` }));
    const keys = PHASES.map((name) => {
      const value = el("b");
      return { value, box: el("span", { class: "sp-cost-key" }, el("i", { class: `is-${name}` }), `${TEXT[`cost_${name}`]} `, value) };
    });
    const parity = el("p", { class: "sp-parity", hidden: true });
    const how = Measured.card([]);
    const measured = el("details", { class: "sp-more" }, el("summary", {}, TEXT.how_title), how);
    let measuredOf = null;
    const even = el("p", { class: "sp-note" });
    parent.append(
      el("div", { class: "sp-figures-main" },
        el("div", { class: "sp-figure" }, el("span", { class: "sp-name" }, TEXT.rate), rate, meter, rateNote),
        el("div", { class: "sp-figure" }, el("span", { class: "sp-name" }, TEXT.speedup), speed, speedNote)),
      el("div", { class: "sp-figures-small" }, ...small.map((s) => s.box)),
      el("div", { class: "sp-cost" },
        el("div", { class: "sp-cost-head" }, el("span", { class: "sp-name" }, TEXT.cost), costNote),
        el("div", { class: "sp-cost-bar", "aria-hidden": "true" }, ...parts), el("div", { class: "sp-cost-keys" }, ...keys.map((k) => k.box)), even),
      parity, measured);

    // The scale is set by the run's own peak and the reference, so the bar does not jump about.
    function scale(reference, value) {
      const top = 1.25 * Math.max(reference || 0, value || 0, 1);
      const step = 10 ** Math.floor(Math.log10(top));
      return Math.ceil(top / step) * step;
    }

    function showRate(figures, reference) {
      const value = figures.tokens_per_s, top = scale(reference, Math.max(value || 0, (reference || 0) * 1.6));
      Format.write(rate, Format.number(value, 1));
      Format.write(rateNote, reference ? Format.fill(TEXT.rate_reference, { rate: Format.number(reference, 1) }) : TEXT.rate_no_reference);
      fillBar.style.transform = `scaleX(${Math.min(1, (value || 0) / top)})`;
      tick.hidden = !reference;
      tick.style.left = `${(100 * (reference || 0)) / top}%`;
      meter.setAttribute("aria-valuemax", String(top));
      meter.setAttribute("aria-valuenow", Format.exists(value) ? value.toFixed(1) : "0");
      meter.setAttribute("aria-valuetext", `${Format.number(value, 1)}, ${rateNote.textContent}`);
    }

    // Of a few tokens nobody can tell a speed.
    const TOO_FEW = 16;
    // A round costs a pass at least, so no run is faster than greedy by more than its tokens a round: a rate
    // timed when the model loaded was then timed at a slower moment, and says nothing.
    const stale = (figures, paired) => !paired && figures.speedup > figures.tokens_per_round;
    const early = (figures, paired) => !paired && figures.tokens < TOO_FEW;

    function showSpeed(figures, paired) {
      const value = stale(figures, paired) || early(figures, paired) ? null : figures.speedup, slower = Format.exists(value) && value < (paired ? 1 : 0.95);
      // One that is not paired is a rough figure, and looks like one.
      Format.write(speed, !Format.exists(value) ? TEXT.none : paired ? `${value.toFixed(2)}×` : `≈ ${value.toFixed(1)}×`);
      speed.className = paired ? "sp-big" : "sp-mid";
      const against = early(figures, paired) ? TEXT.speedup_early : stale(figures, paired) ? TEXT.speedup_stale : !Format.exists(value) ? TEXT.speedup_none : paired ? TEXT.speedup_paired : TEXT.speedup_unpaired;
      Format.write(speedNote, slower ? `${TEXT.slower} · ${against}` : against);
      speed.parentElement.classList.toggle("is-slower", slower);
    }

    function showCost(ms, mean) {
      const all = ms ? PHASES.map((name) => ms[name] || 0) : [0, 0, 0, 0];
      const sum = all.reduce((a, b) => a + b, 0);
      Format.write(costNote, ms ? Format.fill(mean ? TEXT.cost_mean : TEXT.cost_round, { ms: sum.toFixed(1) }) : TEXT.none);
      all.forEach((value, i) => {
        parts[i].style.flexGrow = sum ? String(value / sum) : "0";
        Format.write(keys[i].value, ms ? value.toFixed(1) : TEXT.none);
      });
    }

    // Both sides of the bargain: what a round commits, and what it would have to.
    function showEven(figures, over) {
      const known = figures.speedup_paired && Format.exists(figures.break_even);
      Format.write(even, known ? Format.fill(TEXT.break_even, { need: figures.break_even.toFixed(2), got: Format.number(figures.tokens_per_round, 2) }) : over ? TEXT.break_even_unpaired : TEXT.break_even_none);
    }

    function showParity(result, config, whole) {
      parity.hidden = !whole;
      parity.classList.toggle("is-unknown", !result);
      if (!result) return Format.write(parity, TEXT.parity_unknown);
      parity.classList.toggle("is-different", !result.identical);
      Format.write(parity, Measured.parity(result, config));
    }

    return {
      update(state) {
        const figures = Store.figures(state);
        const whole = state.finished && Store.atEnd(state);
        const reference = state.started && state.started.reference;
        // A paired run knows its greedy rate for sure only once the second baseline has run too.
        const known = state.finished ? state.finished.metrics : {};
        const last = known.speedup_paired && Format.exists(known.greedy_tokens_per_s) ? known.greedy_tokens_per_s : null;
        showRate(figures, last || (reference ? reference.tokens_per_s : null));
        showSpeed(figures, whole && figures.speedup_paired !== undefined ? figures.speedup_paired : reference && reference.paired);
        Format.write(small[0].value, Format.percent(figures.acceptance_rate));
        Format.write(small[1].value, Format.number(figures.mean_jump, 2));
        Format.write(small[2].value, Format.number(figures.tokens_per_round, 2));
        const round = state.rounds[state.head];
        showCost(whole ? figures.ms_per_round : round && round.ms, whole);
        if (state.started && measuredOf !== (state.finished || state.started)) {
          measuredOf = state.finished || state.started;
          how.replaceChildren(...Measured.card(Measured.ofRun(state.started, state.finished)).children);
        }
        showEven(whole ? figures : {}, whole);
        showParity(whole ? figures.parity : null, state.started && state.started.config, whole);
      },
    };
  }
  return { mount };
})();
