// Files out of the page: text as it is, a drawing as SVG or as PNG.
const Save = (() => {
  function blob(name, data) {
    const link = Format.el("a", { download: name });
    link.href = URL.createObjectURL(data);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  const text = (name, type, words) => blob(name, new Blob([words], { type }));
  // What a model or a visitor wrote may hold characters that XML has no way to write.
  const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
  const markup = (node) => new XMLSerializer().serializeToString(node).replace(NOT_XML, "\ufffd");
  const svg = (name, node) => text(`${name}.svg`, "image/svg+xml", markup(node));

  function png(name, node, scale = 2) {
    const image = new Image();
    const source = URL.createObjectURL(new Blob([markup(node)], { type: "image/svg+xml" }));
    image.onload = () => {
      const canvas = Format.el("canvas", { width: node.getAttribute("width") * scale, height: node.getAttribute("height") * scale });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      URL.revokeObjectURL(source);
      canvas.toBlob((data) => blob(`${name}.png`, data));
    };
    image.src = source;
  }

  // Two small buttons, "PNG" and "SVG"; `make` gives {name, node}, now or later, or null when there is nothing yet.
  function buttons(words, make) {
    const button = (kind, write) => {
      const node = Format.el("button", { type: "button", class: "sp-button is-small", "aria-label": Format.fill(words, { kind }) }, kind);
      node.addEventListener("click", async () => { const made = await make(); if (made) write(made.name, made.node); });
      return node;
    };
    return Format.el("div", { class: "sp-buttons" }, button("PNG", png), button("SVG", svg));
  }

  return { blob, text, svg, png, buttons };
})();
