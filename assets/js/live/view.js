// The view: builds the panels, folds frames into the state, and draws what changed.
const View = (() => {
  const { el } = Format;
  const root = element.querySelector(".spork-view");
  const state = Store.empty();
  let asked = null, begun = false;

  const panel = (name, title, ...head) => {
    const heading = el("h2", { id: `sp-${name}-title` }, title);
    const header = el("header", { class: "sp-panel-head" }, heading, ...head);
    const node = el("section", { class: `sp-panel is-${name}`, "aria-labelledby": heading.id }, header);
    root.append(node);
    return { node, heading };
  };
  const legend = (kinds) => el("ul", { class: "sp-legend" }, ...kinds.map((kind) =>
    el("li", { class: `is-${kind}` }, el("i", { "aria-hidden": "true" }, Inspector.STATUS[kind]), el("span", {}, TEXT[`legend_${kind}`]))));

  const status = el("p", { class: "sp-status" });
  const said = el("p", { class: "sp-said", role: "status", "aria-live": "polite" });
  const notes = el("div", { class: "sp-run-notes" });
  const glossary = el("details", { class: "sp-more" }, el("summary", {}, TEXT.glossary_title),
    el("ul", { class: "sp-how" }, ...["fork", "km", "score", "tau", "fallback", "plain", "bonus", "greedy", "speedup", "jump", "parts", "marks"].map((name) => el("li", {}, TEXT[`glossary_${name}`]))));
  root.append(el("div", { class: "sp-live-intro" }, el("p", { class: "sp-intro" }, TEXT.live_intro), glossary), el("div", { class: "sp-status-row" }, status, notes), said);
  const say = (words) => { said.textContent = words; };

  const textPart = panel("text", TEXT.text_title, legend(["accepted", "bonus", "fallback", "plain"]));
  const gaugePart = panel("gauges", TEXT.gauges_title, Save.buttons(TEXT.save_figures, () => Exports.figures(state)));
  const chip = el("span", { class: "sp-chip" });
  const reason = el("p", { class: "sp-reason" });
  const turnedDown = el("p", { class: "sp-turned-down" });
  const treePart = panel("tree", "", chip, reason, Save.buttons(TEXT.save_tree, () => Exports.tree(tree, state)), turnedDown);
  const transportBox = el("div", { class: "sp-transport" });
  const stripPart = panel("rounds", TEXT.strip_title, el("p", { class: "sp-panel-note" }, TEXT.strip_help));

  const text = TextPanel.mount(textPart.node, { peek, choose, step });
  const gauges = Gauges.mount(gaugePart.node);
  const tree = Tree.mount(treePart.node, (round, index, aloud) => inspector.node(round, index, aloud));
  const inspector = Inspector.mount(treePart.node, say);
  const strip = Strip.mount(stripPart.node, { scrub, step, redrawn: () => strip.update(state, false) });
  stripPart.node.append(transportBox);
  const charts = Charts.mount(panel("charts", TEXT.charts_title).node);
  const transport = Transport.mount(transportBox, { step, advance, rewind, follow, save, load });
  // The heading names the round that is drawn, so both change together.
  const drawTree = Pacing.create(() => {
    const at = Store.shown(state), round = state.rounds[at] || null;
    tree.show(round, round ? state.layouts[at] : null);
    drawRoundHead(round);
    return tree.draw();
  });

  // ---- what the visitor does --------------------------------------------------------------

  function goTo(cursor, head, aloud) {
    if (state.rounds.length === 0) return;
    if (Store.isLive(state)) state.follow = false;
    Store.goTo(state, cursor, Store.isLive(state) ? state.rounds.length - 1 : head);
    render(false);
    text.reveal(state.cursor);
    if (aloud) sayRound();
  }
  function scrub(round) { transport.pause(); goTo(round, round, false); }
  function step(by) {
    transport.pause();
    const next = by === Infinity ? state.rounds.length - 1 : by === -Infinity ? 0 : state.cursor + by;
    goTo(next, next, true);
  }
  function choose(round) { goTo(round, state.head, true); }
  function peek(round) {
    if (state.peek === round || (round !== null && round >= state.rounds.length)) return;
    state.peek = round;
    render(false);
  }
  function advance() {
    if (Store.atEnd(state) || Store.isLive(state)) return false;
    goTo(state.head + 1, state.head + 1, false);
    return !Store.atEnd(state);
  }
  // Playing starts where the clock stands, or over again when it stands at the end.
  function rewind() {
    if (Store.isLive(state) || state.rounds.length === 0) return false;
    if (Store.atEnd(state)) goTo(0, 0, false);
    return true;
  }
  function follow() {
    state.follow = !state.follow;
    if (state.follow) Store.goTo(state, state.rounds.length - 1, state.rounds.length - 1);
    render(false, true);
  }
  // The events exactly as they came, one a line: the file `spork.events` reads.
  const trace = () => `${state.lines.map((event) => JSON.stringify(event)).join("\n")}\n`;
  function save() { Save.text(`spork-${state.source}.jsonl`, "application/jsonl", trace()); }
  function load() {
    const input = document.querySelector("#spork-upload input[type=file], input#spork-upload, #spork-upload");
    if (input) input.click();
  }

  // ---- drawing ----------------------------------------------------------------------------

  function render(fresh, atOnce) {
    const live = Store.isLive(state);
    text.update(state, fresh);
    gauges.update(state);
    strip.update(state, fresh);
    transport.update(state);
    charts.update(state);
    const round = state.rounds[Store.shown(state)] || null;
    // A run's first round and what a visitor asks for are drawn at once; the rest at the pace.
    const paced = live && state.follow && !fresh && !atOnce && begun;
    if (round) begun = true;
    if (!paced) {
      drawRoundHead(round);
      inspector.round(round);
    }
    drawTree(paced ? state.duty : null);
    Format.write(status, statusWords());
  }

  function drawRoundHead(round) {
    const n = round ? round.index + 1 : 0;
    const words = Store.isLive(state) ? TEXT.tree_title_live : TEXT.tree_title;
    Format.write(treePart.heading, round ? Format.fill(words, { n, total: state.rounds.length }) : TEXT.no_rounds);
    chip.hidden = reason.hidden = !round;
    turnedDown.hidden = !(round && round.turned_down);
    if (!round) return;
    const kind = RunNotes.kind(round);
    Format.write(chip, `${Inspector.STATUS[kind]} ${TEXT[`chip_${kind}`]} · ${Format.tokens(round.committed.length)}`);
    chip.className = `sp-chip is-${kind}`;
    Format.write(reason, RunNotes.reason(round));
    Format.write(turnedDown, RunNotes.turnedDown(round));
  }

  function statusWords() {
    if (asked) return asked === "loading" && state.note ? state.note : TEXT[asked];
    const values = { prompt: state.started ? state.started.prompt : "", message: (state.finished && state.finished.message) || "" };
    return Format.fill(TEXT[state.phase] || "", values);
  }

  function sayRound() {
    const round = state.rounds[state.cursor];
    say(Format.fill(TEXT.said_round, {
      n: round.index + 1, decision: TEXT[`chip_${RunNotes.kind(round)}`], tokens: Format.tokens(round.committed.length), reason: RunNotes.reason(round),
    }));
  }

  function sayDone() {
    const figures = state.finished.metrics;
    say(Format.fill(TEXT.said_done, {
      how: statusWords(), tokens: Format.tokens(state.finished.token_ids.length), rounds: state.finished.rounds, rate: Format.number(figures.tokens_per_s, 1),
    }));
  }

  // ---- frames -----------------------------------------------------------------------------

  function take(frame) {
    const wasFinished = Boolean(state.finished);
    if (frame.source === "live") window.sporkRun = frame.run;
    const change = Store.take(state, frame);
    if (frame.source === "live" && asked !== "stopping") asked = state.run === frame.run ? null : frame.phase;
    if (change.reset) begin();
    if (state.finished && (!wasFinished || change.reset) && state.source === "live") end();
    render(change.reset);
    if (change.reset || state.finished) window.dispatchEvent(new CustomEvent("spork:trace"));
    if (state.finished && !wasFinished && state.source === "live") sayDone();
  }

  function begin() {
    transport.pause();
    begun = false;
    const { k, m } = state.started.config;
    // A run may draw K forks of M + 1 tokens and a bonus; of one that is over it is known whether it does.
    const most = state.source === "live" ? [Infinity, Infinity] : Geometry.most(state.layouts);
    tree.expect(Math.min(k || 1, most[0]), Math.min((m || 0) + 2, most[1]));
    if (state.source !== "live") requestAnimationFrame(() => text.reveal(state.cursor));
    notes.replaceChildren(...RunNotes.of(state.started.config, false));
    strip.expect(state.started.config.m || 0);
    window.sporkSource = state.source;
    window.dispatchEvent(new CustomEvent("spork:source"));
  }

  function end() {
    asked = null;
    state.cursor = Math.min(state.cursor, state.rounds.length - 1);
  }

  // Only what happens to a live run concerns this view; races and sweeps have their own.
  function outcome(name, words) {
    window.addEventListener(`spork:${name}`, (event) => {
      if (event.detail.mode !== "live") return;
      words();
      render(false);
    });
  }
  outcome("pending", () => { asked = "pending"; transport.pause(); });
  outcome("stopping", () => { asked = "stopping"; });
  outcome("ended", () => {
    if (asked === "pending" || asked === "waiting" || asked === "loading" || asked === "stopping") asked = null;
    if (Store.isLive(state)) state.phase = "stopped";
  });
  outcome("failed", () => {
    asked = Store.isLive(state) && window.sporkRun === state.run ? null : "failed";
    if (Store.isLive(state)) state.phase = "broken";
  });

  // A run that another part of the page holds, such as a race's, can be shown here.
  window.addEventListener("spork:show", (event) => take(event.detail));
  window.addEventListener("spork:leaving", () => Kept.keep(state));
  window.sporkTrace = () => (state.started ? { run: state.run, started: state.started, rounds: state.rounds, text: trace() } : null);

  watch("value", () => props.value && take(Store.read(props.value)));
  if (props.value) take(Store.read(props.value));
  else render(true);
  const kept = Kept.take();
  if (kept) take(kept);
  Format.onTheme(() => { tree.repaint(); strip.repaint(); });
  PlotlySource.load(FACTS.plotly).then(tree.ready, tree.failed).then(() => Store.isLive(state) || text.reveal(state.cursor));
  return { state };
})();
