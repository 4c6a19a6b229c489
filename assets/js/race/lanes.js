// One lane a decoder: its text as it grew, and its rounds as segments on the shared clock.
// A segment is as wide as its round took and as tall as the tokens it committed.
const Lanes = (() => {
  const { el } = Format;

  // When each round's tokens were there, in seconds of the run's own clock.
  function times(run) {
    const end = run.finished ? run.finished.metrics.decode_s : null;
    return run.rounds.map((round, i) => (i + 1 < run.rounds.length ? run.rounds[i + 1].clock_s : end ?? round.clock_s));
  }

  function mount(parent, name) {
    const rate = el("strong", { class: "sp-big" }), note = el("span", { class: "sp-note" });
    const flow = el("div", { class: "sp-lane-text", tabindex: "0", role: "group", "aria-label": Format.fill(TEXT.lane_text, { lane: TEXT[`lane_${name}`] }) });
    const track = el("div", { class: "sp-lane-track", "aria-hidden": "true" });
    const node = el("section", { class: `sp-panel sp-lane is-${name}`, "aria-label": TEXT[`lane_${name}`] },
      el("header", { class: "sp-panel-head" }, el("h2", {}, TEXT[`lane_${name}`]), el("span", { class: "sp-lane-rate" }, rate, note)), track, flow);
    parent.append(node);
    let run = null, spans = [], segments = [], ends = [], shown = -1;

    function grow() {
      for (let i = spans.length; i < run.rounds.length; i++) {
        const round = run.rounds[i];
        spans.push(round.pieces.flatMap((piece, j) => {
          const span = el("span", { class: name === "spork" ? `sp-token is-${RunNotes.status(round, { status: round.statuses[j] })}` : "sp-plain" });
          span.textContent = piece;
          return piece === "" ? [] : [span];
        }));
        flow.append(...spans[i]);
      }
    }

    function layOut(scale, tallest) {
      ends = times(run);
      segments = run.rounds.map((round, i) => {
        const segment = el("i", { class: `is-${RunNotes.kind(round)}` });
        const from = i ? ends[i - 1] : 0;
        segment.style.left = `${(100 * from) / scale}%`;
        segment.style.width = `max(1px, calc(${(100 * (ends[i] - from)) / scale}% - 1px))`;
        segment.style.height = `${Math.max(18, (100 * round.committed.length) / tallest)}%`;
        return segment;
      });
      track.replaceChildren(...segments);
    }

    return {
      node,
      // While it is measured: the text as it comes.
      update(current) {
        if (run !== current) { run = current; spans = []; segments = []; shown = -1; flow.replaceChildren(); track.replaceChildren(); Format.write(rate, ""); Format.write(note, ""); }
        grow();
      },
      // When it is over: everything on a clock of `scale` seconds.
      finish(scale, tallest, words) {
        layOut(scale, tallest);
        Format.write(rate, Format.number(run.finished.metrics.tokens_per_s, 1));
        Format.write(note, words);
      },
      at(seconds) {
        let count = 0;
        while (count < ends.length && ends[count] <= seconds + 1e-9) count++;
        const from = Math.min(count, shown < 0 ? 0 : shown), to = Math.max(count, shown < 0 ? spans.length : shown);
        for (let i = from; i < to; i++) {
          spans[i].forEach((span) => span.classList.toggle("is-unborn", i >= count));
          segments[i].classList.toggle("is-unborn", i >= count);
        }
        shown = count;
        return run.rounds.slice(0, count).reduce((sum, round) => sum + round.committed.length, 0);
      },
      end: () => ends[ends.length - 1] || 0,
    };
  }
  return { mount };
})();
