// The reducer: frames in, state out. Live, replay and a loaded trace all pass through `take`.
//
// Two places in a run are kept. `head` is where the clock stands: text after it is faded and the
// gauges show the figures recorded there. `cursor` is the round whose tree is drawn. Stepping and
// playing move both; choosing a token in the text moves the cursor alone.
const Store = (() => {
  function empty() {
    return {
      run: null, source: null, started: null, rounds: [], layouts: [], lines: [], finished: null,
      head: -1, cursor: -1, peek: null, follow: true, phase: "idle", note: "", fraction: null,
      duty: null,
    };
  }

  // A frame as it came, made whole: nodes travel by column, and a layout that repeats is sent once.
  // Most rounds of a fast run are never drawn, so their nodes are put together when first asked for.
  function read(text) {
    const frame = JSON.parse(text);
    let layout = null;
    frame.events.forEach((event, i) => {
      if (event.event !== "round") return;
      const columns = event.nodes;
      let nodes = null;
      Object.defineProperty(event, "nodes", { enumerable: true, get: () => nodes || (nodes = rows(columns)) });
      layout = frame.layouts[i] = frame.layouts[i] || layout;
    });
    return frame;
  }

  function rows(columns) {
    const names = Object.keys(columns);
    return columns.id.map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
  }

  // Fold one frame into the state. Returns {reset, added} so that drawing can append.
  function take(state, frame) {
    let reset = false;
    const before = state.rounds.length;
    if (frame.duty) state.duty = frame.duty;
    if (frame.source === "live") {
      Object.assign(state, { phase: frame.phase, note: frame.note, fraction: frame.fraction });
    }
    frame.events.forEach((event, i) => {
      if (event.event === "run_started") {
        reset = true;
        Object.assign(state, empty(), {
          run: frame.run, source: frame.source, started: event, duty: frame.duty || state.duty,
          phase: frame.source === "live" ? "prefill" : frame.source, follow: frame.source === "live",
        });
      }
      if (state.run !== frame.run || !fits(state, event)) return;
      state.lines.push(event);
      if (event.event === "round") addRound(state, event, frame.layouts[i]);
      if (event.event === "run_finished") {
        state.finished = event;
        if (state.source === "live") state.phase = `done_${event.reason}`;
      }
    });
    if (frame.source !== "live" && reset && state.rounds.length) goTo(state, opening(state), state.rounds.length - 1);
    return { reset, added: state.rounds.length - (reset ? 0 : before) };
  }

  // A frame that comes twice (the browser keeps the last one) must not count twice.
  function fits(state, event) {
    if (event.event === "round") return event.index === state.rounds.length;
    if (event.event === "run_finished") return !state.finished;
    return true;
  }

  function addRound(state, round, layout) {
    state.rounds.push(round);
    state.layouts.push(layout);
    if (state.source === "live") {
      state.phase = "running";
      if (state.follow) state.cursor = state.rounds.length - 1;
      state.head = state.rounds.length - 1;
    }
  }

  // A recorded run opens on its longest jump, of several the one with most letters: that shows at a
  // glance what the page is about, and line ends do not.
  const letters = (text) => text.replace(/[^\p{L}]/gu, "").length;
  function opening(state) {
    const worth = (round) => (round.decision === "accepted" && round.forks.length > 1 ? 1000 * round.committed.length + letters(round.text) : 0);
    return state.rounds.reduce((best, round, i) => (worth(round) > worth(state.rounds[best]) ? i : best), 0);
  }

  const clamp = (state, i) => Math.max(0, Math.min(state.rounds.length - 1, i));

  function goTo(state, cursor, head) {
    state.cursor = clamp(state, cursor);
    state.head = clamp(state, head);
    state.peek = null;
  }

  const isLive = (state) => state.source === "live" && !state.finished && ["prefill", "running", "stopping"].includes(state.phase);
  const atEnd = (state) => state.head >= state.rounds.length - 1;
  const shown = (state) => (state.peek === null ? state.cursor : state.peek);

  // The figures to show: the whole run's once it is over, else those recorded at the head.
  function figures(state) {
    if (state.finished && atEnd(state)) return state.finished.metrics;
    return state.head >= 0 ? state.rounds[state.head].running : {};
  }

  return { empty, read, take, opening, goTo, clamp, isLive, atEnd, shown, figures };
})();
