// The generated text: one span a token, marked by how it came, appended and never rebuilt. Every
// line is a block of its own, so that a new token moves the last line only, and lines stand in pages
// that the browser skips while they are out of sight, however long the text.
const TextPanel = (() => {
  const PAGE_LINES = 16;

  function mount(parent, actions) {
    const flow = Format.el("div", { class: "sp-flow", tabindex: "0", role: "group", "aria-label": TEXT.text_help });
    const stick = Format.el("div", { class: "sp-flow-stick", tabindex: "-1" }, flow);
    const prompt = Format.el("p", { class: "sp-flow-prompt" });
    parent.append(prompt, stick);
    let spans = [], faded = -1, marked = -1, line = null;

    function newLine() {
      const last = flow.lastElementChild;
      const page = last && last.childElementCount < PAGE_LINES ? last : flow.appendChild(Format.el("div", { class: "sp-page" }));
      return page.appendChild(Format.el("div"));
    }

    function append(rounds, from) {
      let open = line || newLine();
      for (let i = from; i < rounds.length; i++) {
        const round = rounds[i];
        spans.push(round.pieces.map((piece, j) => token(piece, RunNotes.status(round, { status: round.statuses[j] }), i)).filter(Boolean));
        for (const span of spans[i]) {
          open.append(span);
          if (span.textContent.endsWith("\n")) open = newLine();
        }
      }
      line = open;
    }

    // A token that only begins a character has no text of its own yet, and no mark.
    function token(piece, status, round) {
      if (piece === "") return null;
      const span = Format.el("span", { class: `sp-token is-${status}${piece.includes("\n") ? " is-line" : ""}` });
      span.textContent = piece;
      span.dataset.round = round;
      return span;
    }

    // A box that changes its size goes back to its end; what was chosen stays in sight.
    new ResizeObserver(() => { if (marked >= 0) reveal(marked); }).observe(stick);

    const each = (from, to, change) => {
      for (let i = Math.max(0, from); i <= to && i < spans.length; i++) spans[i].forEach(change);
    };

    // Fade what comes after the head; only tokens between the old and the new head are touched.
    function fade(head) {
      if (head > faded) each(faded + 1, head, (s) => s.classList.remove("is-later"));
      else each(head + 1, faded, (s) => s.classList.add("is-later"));
      faded = head;
    }

    function mark(round) {
      if (marked === round) return;
      each(marked, marked, (s) => s.classList.remove("is-chosen"));
      each(round, round, (s) => s.classList.add("is-chosen"));
      marked = round;
    }

    function reveal(round) {
      const span = spans[round] && spans[round][0];
      if (!span) return;
      const box = stick.getBoundingClientRect(), at = span.getBoundingClientRect();
      if (at.top < box.top || at.bottom > box.bottom) stick.scrollBy(0, at.top - box.top - box.height / 3);
    }

    const roundOf = (event) => {
      const span = event.target.closest(".sp-token");
      return span ? Number(span.dataset.round) : null;
    };
    let over = null;
    // A pointer that sweeps over the text should not draw every round it crosses.
    flow.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "mouse") return;
      clearTimeout(over);
      const round = roundOf(event);
      over = setTimeout(() => actions.peek(round), 70);
    });
    flow.addEventListener("pointerleave", () => { clearTimeout(over); actions.peek(null); });
    flow.addEventListener("click", (event) => {
      const round = roundOf(event);
      if (round !== null) actions.choose(round);
    });
    flow.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      actions.step(step);
    });

    return {
      // Draw what is new; `fresh` throws the old run away first.
      update(state, fresh) {
        if (fresh) {
          flow.replaceChildren();
          line = null;
          spans = [];
          faded = -1;
          marked = -1;
        }
        Format.write(prompt, state.started ? state.started.prompt : "");
        const grew = spans.length < state.rounds.length;
        if (grew) {
          // New tokens are born readable, or faded when the head stands before them.
          const from = spans.length;
          append(state.rounds, from);
          if (state.head >= state.rounds.length - 1 && faded === from - 1) faded = spans.length - 1;
          else if (state.head < from) each(from, spans.length - 1, (s) => s.classList.add("is-later"));
        }
        if (faded !== state.head) fade(state.head);
        mark(Store.isLive(state) && state.follow && state.peek === null ? -1 : Store.shown(state));
      },
      reveal,
    };
  }
  return { mount };
})();
