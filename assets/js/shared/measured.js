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

  function card(lines) {
    return Format.el("ul", { class: "sp-how" }, ...lines.map((line) => Format.el("li", {}, line)));
  }
  return { machine, ofRun, card };
})();
