// The four tabs: a tab list as the ARIA practices describe it. Which one is open stands in the
// body's `data-tab` (style sheets show and hide by it) and in the address, so that it can be shared.
const Tabs = (() => {
  const NAMES = ["live", "race", "tune", "learn"];

  function mount(parent) {
    const buttons = NAMES.map((name) => {
      const button = Format.el("button", { type: "button", role: "tab", id: `sp-tab-${name}`, "aria-controls": `spork-panel-${name}`, class: "sp-tab" }, TEXT[`tab_${name}`]);
      button.addEventListener("click", () => open(name));
      return button;
    });
    const list = Format.el("div", { class: "sp-tabs", role: "tablist", "aria-label": TEXT.tabs_label }, ...buttons);
    parent.append(list);

    list.addEventListener("keydown", (event) => {
      const here = NAMES.indexOf(document.body.dataset.tab);
      const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: NAMES.length - 1 }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      const name = NAMES[(next + NAMES.length) % NAMES.length];
      open(name);
      buttons[NAMES.indexOf(name)].focus();
    });

    function panels() {
      for (const name of NAMES) {
        const panel = document.getElementById(`spork-panel-${name}`);
        if (!panel) continue;
        panel.setAttribute("role", "tabpanel");
        panel.setAttribute("aria-labelledby", `sp-tab-${name}`);
      }
    }

    function open(name) {
      document.body.dataset.tab = name;
      buttons.forEach((button, i) => {
        button.setAttribute("aria-selected", String(NAMES[i] === name));
        button.tabIndex = NAMES[i] === name ? 0 : -1;
      });
      panels();
      history.replaceState(null, "", `${location.pathname}${location.search}${name === "live" ? "" : `#${name}`}`);
      window.dispatchEvent(new CustomEvent("spork:tab", { detail: name }));
    }

    const asked = () => (NAMES.includes(location.hash.slice(1)) ? location.hash.slice(1) : "live");
    window.addEventListener("hashchange", () => open(asked()));
    window.addEventListener("spork:open", (event) => open(event.detail));
    open(asked());
  }
  return { mount };
})();
