// A bar with a name before and words after it, as an item of a list; `share` is its part of the
// track, and `more` that of a second piece right after it.
const Bars = (() => {
  function piece(kind, share) {
    const fill = Format.el("i", { class: `sp-bar-fill${kind ? ` is-${kind}` : ""}`, "aria-hidden": "true" });
    fill.style.width = `${100 * share}%`;
    return fill;
  }
  function bar({ name, share, words, kind, more }) {
    const pieces = more ? [piece(kind, share), piece("draft", more)] : [piece(kind, share)];
    return Format.el("li", {}, Format.el("span", { class: "sp-bar-name" }, name), Format.el("span", { class: "sp-bar-track" }, ...pieces), Format.el("b", {}, words));
  }
  return { bar };
})();
