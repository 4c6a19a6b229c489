// Predict before the answer: one choice a fork and one for "none", then what really happened.
const Question = (() => {
  const { el } = Format;

  // A fork by its first token only: which path in it is the best would give the answer away.
  const words = (round, fork) => round.nodes.find((node) => node.id === fork.nodes[0]).text;

  function mount(parent, round, reveal) {
    const right = round.decision === "accepted" ? round.chosen : -1;
    const name = `spork-guess-${round.index}`;
    const option = (value, label) => {
      const input = el("input", { type: "radio", name, value: String(value) });
      input.addEventListener("change", () => { check.disabled = false; });
      return el("label", { class: "sp-guess" }, input, el("span", {}, label));
    };
    const check = el("button", { type: "button", class: "sp-button is-main", disabled: true }, TEXT.guess_check);
    const answer = el("p", { class: "sp-lesson-result", role: "status" });
    const forks = round.forks.map((fork, i) => option(i, Format.fill(TEXT.guess_fork, { n: i + 1, text: `${Format.short(words(round, fork), 34)} …` })));
    parent.append(el("fieldset", { class: "sp-guesses" }, el("legend", {}, TEXT.guess_legend), ...forks, option(-1, TEXT.guess_none)), check, answer);
    check.addEventListener("click", () => {
      const guess = Number(parent.querySelector(`input[name="${name}"]:checked`).value);
      const verdict = guess === right ? TEXT.guess_right : right < 0 ? TEXT.guess_was_none : Format.fill(TEXT.guess_was, { n: right + 1 });
      for (const guessed of parent.querySelectorAll(".sp-guess")) guessed.classList.toggle("is-right", Number(guessed.querySelector("input").value) === right);
      const why = RunNotes.reason(round);
      Format.write(answer, `${verdict} ${why.charAt(0).toUpperCase()}${why.slice(1)}.`);
      reveal();
    });
  }
  return { mount };
})();
