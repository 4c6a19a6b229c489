// The tour: eight short chapters over one recorded run. A chapter is {title, lines, draw(box)}.
const Chapters = (() => {
  const { el } = Format;

  // A round with its drafted nodes only, which stand first, each changed.
  function redrafted({ round, layout, drafted }, change) {
    const nodes = round.nodes.slice(0, drafted).map((node) => ({ ...node, ...change(node) }));
    return { round: { ...round, nodes }, layout: layout.slice(0, nodes.length + 1) };
  }

  // As it stood before it was judged: no scores, nothing accepted.
  function unjudged(told) {
    const before = redrafted(told, () => ({ status: "pending", score: null }));
    return { ...before, round: { ...before.round, forks: [] } };
  }

  // `answers` holds by round what other values of tau would have decided (see Steps), and how many nodes were drafted.
  function of(state, plot, start, answers) {
    const pick = (wanted) => Math.max(0, state.rounds.findIndex(wanted));
    const jump = Store.opening(state);
    const fell = pick((round) => round.decision === "fallback" && round.forks.length > 1 && round.forks.some((fork) => fork.score > 0.05));
    const at = (i) => ({ round: state.rounds[i], layout: state.layouts[i], drafted: answers.drafted[i], steps: answers.rounds[i] });
    const told = { jump: at(jump), fell: at(fell) };
    const metrics = state.finished ? state.finished.metrics : {}, ms = metrics.ms_per_round;

    const tree = (name, judged) => (box) => plot(box, judged ? told[name] : unjudged(told[name]));
    const asking = (name) => (box) => {
      const show = tree(name, false)(box);
      Question.mount(box, told[name].round, () => show(told[name]));
    };
    // Text up to a round, its end only: what the model had in front of it.
    const before = (name) => {
      const text = state.rounds.slice(0, told[name].round.index).map((round) => round.text).join("");
      const end = Array.from(text || state.started.prompt).slice(-90).join("");
      return el("p", { class: "sp-lesson-text" }, `…${end}`, el("i", { class: "sp-caret", "aria-hidden": "true" }));
    };

    return [
      { title: TEXT.learn_1, lines: [TEXT.learn_1_a, TEXT.learn_1_b], draw: (box) => box.append(before("jump")) },
      { title: TEXT.learn_2, lines: [Format.fill(TEXT.learn_2_a, told.jump.round), TEXT.learn_2_b], draw: (box) => { box.append(before("jump")); tree("jump", false)(box); } },
      { title: TEXT.learn_3, lines: [TEXT.learn_3_a], draw: asking("jump") },
      { title: TEXT.learn_4, lines: [Format.fill(TEXT.learn_4_a, { n: told.jump.round.committed.length }), TEXT.learn_4_b], draw: tree("jump", true) },
      { title: TEXT.learn_5, lines: [TEXT.learn_5_a], draw: (box) => { box.append(before("fell")); asking("fell")(box); } },
      { title: TEXT.learn_6, lines: [TEXT.learn_6_a, TEXT.learn_6_b], draw: (box) => Arithmetic.mount(box, start, ms ? ms.propose / ms.verify : 0) },
      { title: TEXT.learn_7, lines: [TEXT.learn_7_a, TEXT.learn_7_b, TEXT.learn_7_c], draw: (box) => tauLesson(box, told.fell, plot) },
      {
        title: TEXT.learn_8,
        lines: [Format.fill(Format.exists(metrics.speedup) ? TEXT.learn_8_a : TEXT.learn_8_none, {
          tokens: state.finished ? state.finished.token_ids.length : 0, rounds: state.rounds.length, per: Format.number(metrics.tokens_per_round, 2),
          x: Format.number(metrics.speedup, 2), need: Format.number(metrics.break_even, 2),
        }), TEXT.learn_8_b],
        draw: (box) => box.append(el("h3", {}, TEXT.how_title), Measured.card(Measured.ofRun(state.started, state.finished))),
      },
    ];
  }

  // A fallback round as it would have gone at another tau.
  function retold(told, step, tau) {
    if (step.decision === "fallback") return { ...told, round: { ...told.round, tau } };
    const changed = redrafted(told, (node) => ({ status: step.path.includes(node.id) ? "accepted" : "rejected" }));
    return { ...changed, round: { ...changed.round, tau, chosen: step.fork, decision: step.decision } };
  }

  // Drag the line across one fallback round: which first tokens would have passed?
  function tauLesson(box, told, plot) {
    const show = plot(box, told), round = told.round;
    const input = el("input", { type: "range", min: "0", max: "1", step: "0.01", value: String(round.tau), class: "sp-range" });
    const shown = el("output", {}, round.tau.toFixed(2));
    const words = el("p", { class: "sp-lesson-result", role: "status" });
    box.append(el("label", { class: "sp-field is-range" }, el("span", { class: "sp-name" }, TEXT.knob_tau), input, shown), words);
    const draw = () => {
      const tau = Number(input.value);
      Format.write(shown, tau.toFixed(2));
      const step = Steps.at(told.steps, tau);
      const passing = round.forks.filter((fork) => fork.score !== null && fork.score >= tau).length;
      Format.write(words, Format.fill(step.decision === "accepted" ? TEXT.tau_passes : TEXT.tau_none, { n: passing, total: round.forks.length, tau: tau.toFixed(2) }));
      show(retold(told, step, tau));
    };
    input.addEventListener("input", draw);
    draw();
  }
  return { of };
})();
