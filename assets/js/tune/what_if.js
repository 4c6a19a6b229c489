// Another tau on the run that the Live tab shows. The server judges every round once, with the
// engine's own selection; dragging only looks the answers up.
const WhatIf = (() => {
  const { el } = Format;

  function mount(parent) {
    const title = el("h2", { id: "sp-what-if-title" }, TEXT.what_if_title);
    const note = el("p", { class: "sp-panel-note" });
    const slider = el("input", { type: "range", min: "0", max: "1", step: "0.01", value: "1", class: "sp-range", "aria-label": TEXT.what_if_slider });
    const shown = el("output", { class: "sp-clock" });
    const strip = el("div", { class: "sp-what-if-strip", role: "img" });
    const words = el("p", { class: "sp-what-if-words", role: "status" });
    const keys = ["accepted", "fallback", "plain", "flipped", "estimate"].map((kind) => el("li", { class: `is-${kind}` }, el("i", { "aria-hidden": "true" }), el("span", {}, TEXT[`what_if_key_${kind}`])));
    const body = el("div", {}, el("div", { class: "sp-transport is-clock" }, slider, shown), strip, el("ul", { class: "sp-legend sp-what-if-keys" }, ...keys), words);
    parent.append(el("section", { class: "sp-panel", "aria-labelledby": title.id }, el("header", { class: "sp-panel-head" }, title, note), body));
    let trace = null, rounds = null, bars = [];

    async function load() {
      const found = window.sporkTrace && window.sporkTrace();
      if (!found || !found.rounds.length) return fail(TEXT.what_if_none);
      trace = found;
      if (!found.rounds.some((round) => round.forks.length)) return fail(TEXT.what_if_undrafted);
      fail("");  // the answers on show are another run's
      let answer;
      try {
        answer = await server.what_if(found.text);
      } catch (error) {
        answer = { error: TEXT.what_if_failed };
      }
      if (trace !== found) return;
      if (answer.error) return fail(answer.error);
      rounds = answer.rounds;
      Format.write(note, Format.fill(TEXT.what_if_of, { prompt: Format.short(found.started.prompt.replace(/\s+/g, " "), 60).replace(/␣/g, " "), tau: found.started.config.tau.toFixed(2) }));
      body.hidden = false;
      bars = rounds.map(() => el("i"));
      strip.replaceChildren(...bars);
      slider.value = String(found.started.config.tau);
      show();
    }
    function fail(reason) { rounds = null; body.hidden = true; Format.write(note, reason); }

    function show() {
      if (!rounds) return;
      const tau = Number(slider.value);
      Format.write(shown, `tau ${tau.toFixed(2)}`);
      const chosen = rounds.map((steps) => Steps.at(steps, tau));
      const flip = chosen.findIndex((step) => !step.same);
      const tallest = Math.max(1, ...rounds.flat().map((step) => step.tokens));
      chosen.forEach((step, i) => {
        const kind = RunNotes.kind({ decision: step.decision, forks: trace.rounds[i].forks });
        bars[i].className = `is-${kind}${step.same ? "" : " is-flipped"}${flip >= 0 && i > flip ? " is-estimate" : ""}`;
        bars[i].style.height = `${(100 * step.tokens) / tallest}%`;
      });
      const mean = (all) => all.reduce((sum, step) => sum + step.tokens, 0) / all.length;
      const values = {
        n: flip + 1, flips: chosen.filter((step) => !step.same).length, total: rounds.length, per: mean(chosen).toFixed(2),
        accepted: Math.round((100 * chosen.filter((step) => step.decision === "accepted").length) / chosen.length),
      };
      const said = Format.fill(flip < 0 ? TEXT.what_if_same : TEXT.what_if_flips, values);
      Format.write(words, said);
      strip.setAttribute("aria-label", said);
    }
    slider.addEventListener("input", show);
    body.hidden = true;
    let stale = true;
    const refresh = () => { if (stale && document.body.dataset.tab === "tune") { stale = false; load(); } };
    window.addEventListener("spork:trace", () => { stale = true; refresh(); });
    window.addEventListener("spork:tab", refresh);
    refresh();
  }
  return { mount };
})();
