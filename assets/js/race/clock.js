// The wall clock both lanes share: play, and a slider to drag. It shows recorded times.
const Clock = (() => {
  const SPEEDS = [0.1, 0.5, 1, 4];
  const TICK_MS = 50;

  function mount(parent, show) {
    const { el } = Format;
    const icon = el("span", { "aria-hidden": "true" }), word = el("span");
    const play = el("button", { type: "button", class: "sp-button is-main" }, icon, word);
    const slider = el("input", { type: "range", min: "0", max: "1", step: "0.001", value: "0", class: "sp-range", "aria-label": TEXT.race_clock });
    const time = el("output", { class: "sp-clock" });
    const speeds = SPEEDS.map((value) => {
      const input = el("input", { type: "radio", name: "spork-race-speed", value: String(value), checked: value === 1 });
      input.addEventListener("change", () => { speed = value; });
      return el("label", {}, input, el("span", {}, `${value}×`));
    });
    parent.append(el("div", { class: "sp-buttons" }, play), slider, time, el("fieldset", { class: "sp-speeds" }, el("legend", {}, TEXT.speed), ...speeds));
    let end = 0, now = 0, speed = 1, timer = null, last = 0;

    function set(seconds) {
      now = Math.max(0, Math.min(end, seconds));
      slider.value = String(end ? now / end : 0);
      slider.setAttribute("aria-valuetext", Format.fill(TEXT.race_time, { s: now.toFixed(2) }));
      Format.write(time, `${now.toFixed(2)} s`);
      show(now);
    }
    function tick() {
      const at = performance.now();
      set(now + ((at - last) / 1000) * speed);
      last = at;
      if (now >= end) pause();
    }
    function start() {
      if (!end) return;
      if (now >= end) set(0);
      last = performance.now();
      timer = setInterval(tick, TICK_MS);
      label();
    }
    function pause() { clearInterval(timer); timer = null; label(); }
    function label() {
      Format.write(icon, timer ? "❚❚" : "►");
      Format.write(word, timer ? TEXT.pause : TEXT.race_replay);
      play.disabled = slider.disabled = !end;
    }
    play.addEventListener("click", () => (timer ? pause() : start()));
    slider.addEventListener("input", () => { pause(); set(Number(slider.value) * end); });
    label();

    return {
      // A measured race: from here on it can be replayed. Reduced motion shows its end at once.
      ready(seconds) {
        end = seconds;
        label();
        if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) set(end);
        else { set(0); start(); }
      },
      reset() { pause(); end = 0; now = 0; Format.write(time, ""); label(); },
    };
  }
  return { mount };
})();
