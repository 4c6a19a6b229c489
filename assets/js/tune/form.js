// What to sweep: values of K, M and tau, prompts beyond the one above, and how much time it may take.
const Form = (() => {
  const { el } = Format;
  const OFFERED = { ks: [1, 2, 3, 4, 5, 6, 7, 8], ms: [0, 1, 2, 3, 4, 5, 6, 7, 8], taus: [1, 0.9, 0.8, 0.7, 0.5, 0.3] };
  const FIRST = { ks: [1, 2, 4, 8], ms: [0, 1, 3, 5], taus: [1] };

  function choices(name, changed) {
    const boxes = OFFERED[name].map((value) => {
      const input = el("input", { type: "checkbox", value: String(value), checked: FIRST[name].includes(value) });
      input.addEventListener("change", changed);
      return { value, input, node: el("label", { class: "sp-pick" }, input, el("span", {}, name === "taus" ? value.toFixed(1) : String(value))) };
    });
    return {
      node: el("fieldset", { class: "sp-picks" }, el("legend", {}, TEXT[`sweep_${name}`]), ...boxes.map((box) => box.node)),
      values: () => boxes.filter((box) => box.input.checked).map((box) => box.value),
    };
  }

  function number(label, value, low, high, changed) {
    const input = el("input", { type: "number", min: String(low), max: String(high), step: "1", value: String(Math.min(value, high)), class: "sp-input" });
    input.addEventListener("input", changed);
    // What cannot be is set right where it stands, not refused later.
    input.addEventListener("change", () => { input.value = String(Math.max(low, Math.min(high, Math.round(Number(input.value)) || low))); });
    return { node: el("label", { class: "sp-field" }, el("span", { class: "sp-name" }, label), input), value: () => Number(input.value) };
  }

  function mount(parent) {
    const count = el("p", { class: "sp-note", role: "status" });
    const changed = () => {
      Format.write(count, Format.fill(cells() > FACTS.cells ? TEXT.sweep_too_many : cells() === 1 ? TEXT.sweep_count_one : TEXT.sweep_count, { n: cells(), most: FACTS.cells }));
      count.classList.toggle("is-warning", cells() > FACTS.cells);
    };
    const sets = Object.fromEntries(Object.keys(OFFERED).map((name) => [name, choices(name, changed)]));
    const tokens = number(TEXT.sweep_tokens, 24, 1, FACTS.tokens, changed);
    const seconds = number(TEXT.sweep_seconds, 60, 1, FACTS.seconds, changed);
    const more = el("textarea", { class: "sp-input", rows: "2", placeholder: TEXT.sweep_prompts_hint });
    const cells = () => Object.values(sets).reduce((product, set) => product * set.values().length, 1);
    parent.append(
      el("div", { class: "sp-form" }, ...Object.values(sets).map((set) => set.node), tokens.node, seconds.node,
        el("label", { class: "sp-field is-wide" }, el("span", { class: "sp-name" }, TEXT.sweep_prompts), more)), count);
    changed();
    const prompt = () => (document.querySelector("#spork-prompt textarea") || {}).value || "";
    return {
      value: () => ({
        ks: sets.ks.values(), ms: sets.ms.values(), taus: sets.taus.values(), new_tokens: tokens.value(), seconds: seconds.value(),
        prompts: [prompt(), ...more.value.split("\n").filter((line) => line.trim())],
      }),
    };
  }
  return { mount };
})();
