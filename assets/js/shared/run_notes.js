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
  // How a round went: a fallback that had nothing to judge is no failure, and looks like none.
  const kind = (round) => (round.decision === "fallback" && round.forks.length === 0 ? "plain" : round.decision);
  // How a node, or a committed token, came: the one token of such a round did not fall back from anything.
  const status = (round, node) => (node.status === "fallback" ? kind(round) : node.status);
  // Why a round ended as it did. The engine's own line is English; other languages say it from the data.
  function reason(round) {
    if (!TEXT.reason_accepted) return round.reason;
    if (round.decision === "fallback") return round.forks.length ? Format.fill(TEXT.reason_fallback, { tau: round.tau.toFixed(2) }) : TEXT.reason_nothing;
    const fork = round.forks[round.chosen];
    const drafted = round.statuses.filter((status) => status === "accepted").length;
    return Format.fill(TEXT.reason_accepted, { n: round.chosen + 1, tokens: drafted, of: fork ? fork.nodes.length : drafted, tau: round.tau.toFixed(2) });
  }

  // Why speculation rested or was cut short in a round, and nothing where it was not.
  const turnedDown = (round) => (round.turned_down && TEXT.turned_down) || round.turned_down || "";

  // What a proposer or verifier is, in the page's language; `summary` is the engine's own English.
  const part = (name, summary) => TEXT[`part_${name.replace(/-/g, "_")}`] || summary;
  return { part, of, kind, status, reason, turnedDown };
})();
