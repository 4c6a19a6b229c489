// The race view: folds race frames into three runs (greedy, SPORK, greedy), shows them as they are
// measured, and then both on one clock. Greedy's run nearest to the mean of both is drawn; the figures use both.
const Race = (() => {
  const { el } = Format;
  const root = element.querySelector(".spork-race");
  const status = el("p", { class: "sp-status" });
  const said = el("p", { class: "sp-said", role: "status", "aria-live": "polite" });
  const lanesBox = el("div", { class: "sp-lanes" });
  const clockBox = el("div", { class: "sp-panel sp-transport is-clock" });
  const intro = el("p", { class: "sp-intro" }, TEXT.race_intro);
  root.append(intro, status, said);
  const verdict = Verdict.mount(root, openInLive);
  root.append(clockBox, lanesBox);
  const lanes = { greedy: Lanes.mount(lanesBox, "greedy"), spork: Lanes.mount(lanesBox, "spork") };
  const clock = Clock.mount(clockBox, (now) => { for (const lane of Object.values(lanes)) lane.at(now); });
  let race = empty(null), asked = null;

  function empty(run) { return { run, greedy: [], spork: [], frames: { events: [], layouts: [] }, ended: false }; }

  function take(frame) {
    window.sporkRun = frame.run;
    if (race.run !== frame.run) { race = empty(frame.run); clock.reset(); verdict.show(null); }
    asked = frame.phase === "running" ? null : frame.phase;
    frame.events.forEach((event, i) => add(frame.lanes[i], frame.turns[i], event, frame.layouts[i]));
    for (const name of ["greedy", "spork"]) {
      const runs = race[name];
      if (runs.length && !race.ended) lanes[name].update(runs[0]);
    }
    if (!race.ended && complete()) finish();
    render(frame);
  }

  // A frame that comes twice must not count twice.
  function add(lane, turn, event, layout) {
    const runs = race[lane];
    if (event.event === "run_started") { if (runs.length > turn) return; runs.push({ started: event, rounds: [], finished: null }); }
    const run = runs[turn];
    if (!run || (event.event === "round" && event.index !== run.rounds.length) || (event.event === "run_finished" && run.finished)) return;
    if (event.event === "round") run.rounds.push(event);
    if (event.event === "run_finished") run.finished = event;
    if (lane !== "spork") return;
    race.frames.events.push(event);
    race.frames.layouts.push(layout);
  }

  const complete = () => race.greedy.length === 2 && race.spork.length === 1 && race.spork[0].finished && race.greedy[1].finished && race.spork[0].finished.metrics.parity;

  function finish() {
    race.ended = true;
    const mean = race.spork[0].finished.metrics.greedy_tokens_per_s;
    const off = (run) => Math.abs((run.finished.metrics.tokens_per_s || 0) - mean);
    const best = race.greedy.reduce((a, b) => (off(b) < off(a) ? b : a));
    lanes.greedy.update(best);
    const scale = Math.max(best.finished.metrics.decode_s, race.spork[0].finished.metrics.decode_s) || 1;
    const tallest = Math.max(1, ...race.spork[0].rounds.map((round) => round.committed.length));
    lanes.greedy.finish(scale, tallest, Format.fill(TEXT.lane_done_of_two, { s: best.finished.metrics.decode_s.toFixed(2) }));
    lanes.spork.finish(scale, tallest, Format.fill(TEXT.lane_done, { s: race.spork[0].finished.metrics.decode_s.toFixed(2) }));
    verdict.show(race);
    clock.ready(scale);
    said.textContent = Verdict.sentence(race);
  }

  function render(frame) {
    const lap = race.spork.length === 0 ? 1 : race.greedy.length < 2 ? 2 : 3;
    const going = [...race.greedy, ...race.spork].find((run) => !run.finished);
    const written = going ? Format.fill(TEXT.race_written, { n: going.rounds.reduce((sum, round) => sum + round.committed.length, 0), most: going.started.config.max_new_tokens }) : "";
    const words = asked ? (asked === "loading" && frame && frame.note ? frame.note : TEXT[asked])
      : race.ended ? TEXT.race_done : race.greedy.length ? `${TEXT[`race_lap_${lap}`]} ${written}` : race.run ? TEXT.race_warming : "";
    Format.write(status, words || "");
    intro.hidden = Boolean(race.run);
    clockBox.hidden = lanesBox.hidden = !race.run;
  }

  function openInLive() {
    window.dispatchEvent(new CustomEvent("spork:show", { detail: { run: `${race.run}-shown`, source: "raced", phase: "done", ...race.frames } }));
    window.dispatchEvent(new CustomEvent("spork:open", { detail: "live" }));
  }

  function outcome(name, change) {
    window.addEventListener(`spork:${name}`, (event) => { if (event.detail.mode === "race") { change(); render(null); } });
  }
  outcome("pending", () => { asked = "pending"; });
  outcome("stopping", () => { asked = "stopping"; });
  outcome("ended", () => { asked = race.ended ? null : "stopped"; });
  outcome("failed", () => { asked = race.ended ? null : "failed_start"; });

  watch("value", () => props.value && take(Store.read(props.value)));
  render(null);
  return {};
})();
