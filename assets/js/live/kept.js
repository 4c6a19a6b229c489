// A run kept through one reload of the page, such as a change of language makes. It stays in this
// tab, and is taken up once.
const Kept = (() => {
  const PLACE = "spork-kept";

  // The run as one frame. One that still goes on ends with the page, and is kept as far as it came.
  function keep(state) {
    if (!state.started || state.source === "recorded") return;
    const source = state.source === "live" && !state.finished ? "loaded" : state.source;
    const { run, phase, note, fraction, lines: events } = state;
    const layouts = events.map((event) => (event.event === "round" ? state.layouts[event.index] : null));
    try { sessionStorage.setItem(PLACE, JSON.stringify({ run, source, phase, note, fraction, events, layouts })); } catch (error) { /* too long, or not allowed: it is let go */ }
  }

  function take() {
    try {
      const text = sessionStorage.getItem(PLACE);
      sessionStorage.removeItem(PLACE);
      return text && JSON.parse(text);
    } catch (error) {
      return null;
    }
  }
  return { keep, take };
})();
