// Plain words on what a choice of proposer, verifier and tau means for the text and its cost.
const RunNotes = (() => {
  // `praise` also says when nothing is lost.
  function of(config, praise) {
    const verifier = Object.hasOwn(FACTS.verifiers, config.verifier) ? FACTS.verifiers[config.verifier] : null;
    const lossless = verifier && verifier.lossless && config.tau >= 1;
    const lines = [];
    if (config.proposer === "full-model") lines.push(["warn", TEXT.note_full_model]);
    if (verifier && !verifier.lossless) lines.push(["warn", Format.fill(TEXT.note_verifier, { verifier: config.verifier })]);
    else if (verifier && config.tau < 1) lines.push(["warn", TEXT.note_tau]);
    if (lossless && praise) lines.push(["good", TEXT.note_lossless]);
    return lines.map(([kind, words]) => Format.el("p", { class: `sp-callout is-${kind}` }, words));
  }
  return { of };
})();
