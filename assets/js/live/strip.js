// The rounds strip: one bar a round on a canvas, as tall as the tokens it committed. It is a
// slider: drag, click, or use the arrow keys. While a run goes on only new bars are drawn.
const Strip = (() => {
  const HEIGHT = 76, FOOT = 12;

  function mount(parent, actions) {
    const canvas = Format.el("canvas", { "aria-hidden": "true" });
    const cursor = Format.el("i", { class: "sp-strip-cursor", hidden: true });
    const box = Format.el("div", { class: "sp-strip", role: "slider", tabindex: "0", "aria-label": TEXT.strip_label, "aria-valuemin": "1" }, canvas, cursor);
    parent.append(box);
    const ink = canvas.getContext("2d");
    let rounds = [], drawn = 0, slots = 64, tallest = 5, usual = 5, width = 0, scale = 1, colours = null;

    const pitch = () => width / slots;

    function resize() {
      width = box.clientWidth;
      scale = window.devicePixelRatio || 1;
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(HEIGHT * scale);
      ink.setTransform(scale, 0, 0, scale, 0, 0);
      drawn = 0;
    }

    function palette() {
      const style = getComputedStyle(box);
      colours = Object.fromEntries(["accepted", "bonus", "fallback", "rejected", "line", "surface"].map((n) => [n, style.getPropertyValue(`--${n}`).trim()]));
    }

    // Slots double when they are used up, so that bars rarely change their width.
    function fit() {
      let want = 64, high = usual;
      while (want < rounds.length) want *= 2;
      if (!state().live) want = Math.max(24, rounds.length);
      for (const r of rounds) high = Math.max(high, r.committed.length);
      if (want !== slots || high !== tallest) {
        slots = want;
        tallest = high;
        drawn = 0;
      }
    }

    let state = () => ({ live: false });

    function draw() {
      if (!width) resize();
      if (!width) return;
      if (!colours) palette();
      fit();
      if (drawn === 0) {
        ink.clearRect(0, 0, width, HEIGHT);
        ink.fillStyle = colours.line;
        ink.fillRect(0, HEIGHT - FOOT, width, 1);
      }
      for (; drawn < rounds.length; drawn++) bar(rounds[drawn], drawn);
    }

    // Accepted: a solid block for drafted tokens with a cap for the bonus. Fallback: a diamond.
    function bar(round, i) {
      const step = pitch(), gap = step > 5 ? Math.min(3, step * 0.25) : step > 2.5 ? 1 : 0;
      const wide = Math.min(22, step - gap), x = i * step + (step - wide) / 2;
      const unit = (HEIGHT - FOOT - 6) / tallest, foot = HEIGHT - FOOT;
      if (round.decision === "fallback") {
        const r = Math.max(1.5, Math.min(wide / 2, 5)), cx = x + wide / 2, cy = foot - r - 2;
        ink.fillStyle = colours[RunNotes.kind(round) === "plain" ? "rejected" : "fallback"];
        ink.beginPath();
        ink.moveTo(cx, cy - r); ink.lineTo(cx + r, cy); ink.lineTo(cx, cy + r); ink.lineTo(cx - r, cy);
        ink.fill();
        return;
      }
      const bonus = round.statuses.filter((s) => s === "bonus").length;
      const solid = (round.committed.length - bonus) * unit;
      ink.fillStyle = colours.accepted;
      ink.fillRect(x, foot - solid, wide, solid);
      ink.fillStyle = colours.bonus;
      ink.fillRect(x, foot - solid - bonus * unit, wide, Math.max(0, bonus * unit - 1.5));
    }

    function place(shown) {
      const has = rounds.length > 0 && shown >= 0;
      cursor.hidden = !has;
      if (!has) return;
      const step = pitch();
      cursor.style.width = `${Math.max(4, step)}px`;
      cursor.style.transform = `translateX(${shown * step + Math.min(0, (step - 4) / 2)}px)`;
    }

    function speak(shown) {
      const round = rounds[shown];
      box.setAttribute("aria-valuemax", String(Math.max(1, rounds.length)));
      box.setAttribute("aria-valuenow", String(Math.max(1, shown + 1)));
      box.setAttribute("aria-valuetext", round ? Format.fill(TEXT.strip_value, {
        n: shown + 1, total: rounds.length, decision: TEXT[`chip_${RunNotes.kind(round)}`], tokens: Format.tokens(round.committed.length),
      }) : TEXT.no_rounds);
    }

    const at = (event) => Math.floor((event.clientX - box.getBoundingClientRect().left) / pitch());
    let dragging = false;
    box.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || rounds.length === 0) return;
      dragging = true;
      box.setPointerCapture(event.pointerId);
      actions.scrub(at(event));
    });
    box.addEventListener("pointermove", (event) => dragging && actions.scrub(at(event)));
    box.addEventListener("lostpointercapture", () => { dragging = false; });
    box.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
      if (!(event.key in steps) || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      actions.step(steps[event.key]);
    });
    new ResizeObserver(() => {
      if (box.clientWidth === width) return;
      resize();
      draw();
      actions.redrawn();
    }).observe(box);

    return {
      update(current, fresh) {
        state = () => ({ live: Store.isLive(current) });
        rounds = current.rounds;
        if (fresh) { drawn = 0; slots = 64; tallest = usual; }
        draw();
        place(Store.shown(current));
        speak(current.cursor);
      },
      // The tallest bar a round of this run can have, so that bars do not shrink midway.
      expect(m) { usual = Math.max(3, m + 2); },
      repaint() { colours = null; drawn = 0; draw(); },
    };
  }
  return { mount };
})();
