// A bar with a name before and words after it, as an item of a list; `share` is its part of the track.
const Bars = (() => {
  function bar({ name, share, words, kind }) {
    const fill = Format.el("i", { class: `sp-bar-fill${kind ? ` is-${kind}` : ""}`, "aria-hidden": "true" });
    fill.style.transform = `scaleX(${share})`;
    return Format.el("li", {}, Format.el("span", { class: "sp-bar-name" }, name), Format.el("span", { class: "sp-bar-track" }, fill), Format.el("b", {}, words));
  }
  return { bar };
})();
