// "How this was measured": the same lines wherever a figure of speed stands.
const Measured = (() => {
  const versions = (started) => Object.entries(started.versions).map(([name, value]) => `${name} ${value}`).join(", ");
  const machine = (started) => Format.fill(TEXT.how_machine, {
    model: started.model, machine: started.machine, device: started.device, dtype: started.dtype, versions: versions(started) || TEXT.none,
  });

  // For one run: what greedy it is held against, and on what it ran.
  function ofRun(started, finished) {
    const reference = started.reference;
    const against = finished && finished.metrics.speedup_paired ? TEXT.how_paired : reference ? Format.fill(TEXT.how_unpaired, { rate: reference.tokens_per_s.toFixed(1) }) : TEXT.how_no_reference;
    return [against, machine(started), TEXT.how_clock];
  }

  // Parity in a sentence: the same, or where the texts part and by how much.
  function parity(result, config) {
    if (!result) return TEXT.none;
    if (result.identical) return config.temperature > 0 ? TEXT.parity_sampled : TEXT.parity_yes;
    const gap = Format.exists(result.logit_gap) ? ` ${Format.fill(TEXT.parity_gap, { gap: result.logit_gap.toPrecision(2) })}` : "";
    return Format.fill(TEXT.parity_no, { n: result.first_difference + 1 }) + gap;
  }

  // On what a run was made, in one line; and its K, M and tau.
  const inBrief = (started) => [started.model, started.machine, started.dtype].filter(Boolean).join(" · ");
  const shape = (config) => `${config.k} · ${config.m} · ${Number(config.tau).toFixed(2)}`;

  function card(lines) {
    return Format.el("ul", { class: "sp-how" }, ...lines.map((line) => Format.el("li", {}, line)));
  }
  return { machine, ofRun, parity, inBrief, shape, card };
})();
