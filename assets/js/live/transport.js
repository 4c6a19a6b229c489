// Step, play, follow, save and load. Playing is the second clock: the engine ran at full speed,
// and its rounds are shown at a human one.
const Transport = (() => {
  const ROUND_MS = 650;
  const SPEEDS = [0.5, 1, 2];

  function mount(parent, actions) {
    const { el } = Format;
    const button = (name, glyph, act) => {
      const node = el("button", { type: "button", class: "sp-button", "aria-label": TEXT[name], title: TEXT[name] }, glyph);
      node.addEventListener("click", act);
      return node;
    };
    const first = button("first", "⇤", () => actions.step(-Infinity));
    const back = button("back", "◀", () => actions.step(-1));
    const forward = button("forward", "▶", () => actions.step(1));
    const playIcon = el("span", { "aria-hidden": "true" }), playWord = el("span");
    const play = el("button", { type: "button", class: "sp-button is-main" }, playIcon, playWord);
    play.addEventListener("click", () => (timer ? pause() : start()));
    const speeds = SPEEDS.map((value) => {
      const input = el("input", { type: "radio", name: "spork-speed", value: String(value), checked: value === 1 });
      input.addEventListener("change", () => { speed = value; if (timer) { clearInterval(timer); timer = tick(); } });
      return el("label", {}, input, el("span", {}, `${value}×`));
    });
    const follow = el("button", { type: "button", class: "sp-button", "aria-pressed": "false" }, TEXT.follow);
    follow.addEventListener("click", actions.follow);
    const save = el("button", { type: "button", class: "sp-button" }, TEXT.download);
    save.addEventListener("click", actions.save);
    const load = el("button", { type: "button", class: "sp-button" }, TEXT.load);
    load.addEventListener("click", actions.load);
    parent.append(
      el("div", { class: "sp-buttons" }, first, back, play, forward),
      el("fieldset", { class: "sp-speeds" }, el("legend", {}, TEXT.speed), ...speeds),
      follow,
      el("div", { class: "sp-buttons is-files" }, save, load));
    let timer = null, speed = 1;

    const tick = () => setInterval(() => { if (!actions.advance()) pause(); }, ROUND_MS / speed);
    function start() {
      if (!actions.rewind()) return;
      timer = tick();
      label();
    }
    function pause() {
      clearInterval(timer);
      timer = null;
      label();
    }
    function label() {
      Format.write(playIcon, timer ? "❚❚" : "►");
      Format.write(playWord, timer ? TEXT.pause : TEXT.play);
      play.classList.toggle("is-on", Boolean(timer));
    }
    label();

    return {
      pause,
      update(state) {
        const live = Store.isLive(state), none = state.rounds.length === 0;
        play.disabled = live || none;
        // A trace would take the place of the run that is going on.
        load.disabled = live;
        save.disabled = state.lines.length === 0;
        first.disabled = back.disabled = none || state.cursor <= 0;
        forward.disabled = none || state.cursor >= state.rounds.length - 1;
        follow.hidden = !live;
        follow.setAttribute("aria-pressed", String(state.follow));
      },
    };
  }
  return { mount };
})();
