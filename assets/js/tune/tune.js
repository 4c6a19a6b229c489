// The tune view: a sweep over K, M and tau as heat maps, and another tau on a recorded run.
const Tune = (() => {
  const { el } = Format;
  const root = element.querySelector(".spork-tune");
  const title = el("h2", { id: "sp-sweep-title" }, TEXT.sweep_title);
  const panel = el("section", { class: "sp-panel", "aria-labelledby": title.id }, el("header", { class: "sp-panel-head" }, title, el("p", { class: "sp-panel-note" }, TEXT.sweep_note)));
  root.append(panel);
  const form = Form.mount(panel);
  const status = el("p", { class: "sp-status", role: "status" });
  const bar = el("progress", { class: "sp-progress", max: "1", value: "0", "aria-label": TEXT.sweep_progress, hidden: true });
  const file = (kind, type, make) => {
    const node = el("button", { type: "button", class: "sp-button", disabled: true }, Format.fill(TEXT.sweep_file, { kind }));
    node.addEventListener("click", () => Save.text(`spork-sweep.${kind.toLowerCase()}`, type, make(sweep)));
    return node;
  };
  const files = [file("CSV", "text/csv", TableFile.csv), file("JSON", "application/json", TableFile.json)];
  const result = el("div", { class: "sp-sweep-result", hidden: true });
  panel.append(status, bar, result);
  const heat = Heatmap.mount(result, apply);
  result.append(el("div", { class: "sp-buttons" }, ...files));
  WhatIf.mount(root);
  let sweep = empty(null), asked = null, sent = null;

  function empty(run) { return { run, cells: new Map(), started: null, finished: null, ks: [], ms: [], taus: [], prompts: [] }; }

  window.sporkSweepForm = () => { sent = form.value(); return JSON.stringify(sent); };

  function apply(cell) {
    window.sporkApply = [cell.k, cell.m, cell.tau];
    trigger("apply");
    Format.write(status, Format.fill(TEXT.sweep_applied, { k: cell.k, m: cell.m, tau: cell.tau.toFixed(2) }));
  }

  function take(frame) {
    window.sporkRun = frame.run;
    if (sweep.run !== frame.run) {
      sweep = { ...empty(frame.run), ks: sent.ks, ms: sent.ms, taus: sent.taus, prompts: sent.prompts };
    }
    asked = frame.phase === "running" ? null : frame.phase;
    for (const event of frame.events) {
      if (event.event === "sweep_started") sweep.started = event;
      if (event.event === "sweep_finished") sweep.finished = event;
      if (event.event === "cell") sweep.cells.set(heat.key(event), event);
    }
    render(frame);
  }

  function render(frame) {
    const measured = sweep.cells.size, total = sweep.started ? sweep.started.cells : 0;
    const words = asked ? (asked === "loading" && frame && frame.note ? frame.note : TEXT[asked])
      : sweep.finished ? Format.fill(TEXT[`sweep_${sweep.finished.reason}`], { n: measured, total, s: sweep.finished.seconds.toFixed(0), rates: sweep.finished.greedy_tokens_per_s.map((r) => r.toFixed(1)).join(", ") })
      : sweep.started ? Format.fill(TEXT.sweep_running, { n: measured, total }) : "";
    Format.write(status, words || "");
    bar.hidden = !sweep.started || Boolean(sweep.finished) || Boolean(asked);
    bar.value = total ? measured / total : 0;
    result.hidden = measured === 0;
    files.forEach((node) => { node.disabled = measured === 0; });
    if (measured && frame) heat.draw(sweep);
  }

  function outcome(name, change) {
    window.addEventListener(`spork:${name}`, (event) => { if (event.detail.mode === "tune") { change(); render(null); } });
  }
  outcome("pending", () => { asked = "pending"; });
  outcome("stopping", () => { asked = "stopping"; });
  outcome("ended", () => { asked = sweep.finished ? null : "stopped"; });
  outcome("failed", () => { asked = "failed_start"; });

  watch("value", () => props.value && take(JSON.parse(props.value)));
  return {};
})();
