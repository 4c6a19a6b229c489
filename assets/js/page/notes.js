// Under the knobs: what the chosen parts are, and what they mean.
const Notes = (() => {
  const root = element.querySelector(".spork-notes");
  const box = Format.el("div", { class: "sp-knob-notes", "aria-live": "off" });
  root.append(box, Format.el("p", { class: "sp-note sp-next-run" }, TEXT.next_run));

  function show(config) {
    const parts = [
      [config.proposer, FACTS.proposers[config.proposer]],
      [config.verifier, (FACTS.verifiers[config.verifier] || {}).summary],
    ];
    const lines = parts.filter(([, words]) => words).map(([name, words]) =>
      Format.el("p", { class: "sp-part" }, Format.el("b", {}, name), ` ${RunNotes.part(name, words)}`));
    box.replaceChildren(...lines, ...RunNotes.of(config, true));
  }
  window.addEventListener("spork:knobs", (event) => show(event.detail));
  show(FACTS.start);
  return { show };
})();
