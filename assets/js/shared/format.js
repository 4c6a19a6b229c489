// Words, numbers and DOM helpers. Everything a model or a visitor wrote goes through `el` (text
// nodes) or `svg`; nothing here makes HTML out of text.
const Format = (() => {
  const CONTROL = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]/gu;

  // A token as one visible line: spaces, line ends, tabs and invisible characters get a glyph.
  function visible(text) {
    if (text === "") return "∅";
    return text
      .replace(/ /g, "␣").replace(/\r?\n/g, "↵").replace(/\t/g, "⇥")
      .replace(CONTROL, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);
  }

  function short(text, limit) {
    const glyphs = Array.from(visible(text));
    return glyphs.length <= limit ? glyphs.join("") : glyphs.slice(0, Math.max(1, limit - 1)).join("") + "…";
  }

  const exists = (value) => typeof value === "number" && Number.isFinite(value);
  const number = (value, digits) => (exists(value) ? value.toFixed(digits) : TEXT.none);
  const percent = (value) => (exists(value) ? `${Math.round(value * 100)} %` : TEXT.none);
  const probability = (value) => {
    if (!exists(value)) return TEXT.none;
    return value > 0 && value < 0.001 ? value.toExponential(1) : value.toFixed(3);
  };

  // A score beside the line it must reach: with digits enough that one below it does not read as equal.
  const score = (value, tau) => {
    const digits = [2, 3, 4, 5].find((n) => (value.toFixed(n) === tau.toFixed(n)) === (value === tau)) || 6;
    return value.toFixed(value < tau ? digits : 2);
  };

  // Fill {name} with a value; the result is text, never markup.
  const fill = (template, values) =>
    template.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));

  const tokens = (n) => fill(n === 1 ? TEXT.tokens_one : TEXT.tokens_many, { n });

  function el(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children);
    return node;
  }

  // The same for a picture; `words` is its text.
  function svg(tag, attributes = {}, words) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (words !== undefined) node.textContent = words;
    return node;
  }

  // Write text only where it changed: an untouched text node costs no layout.
  function write(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  const isDark = () => document.body.classList.contains("dark");

  // Call `act` when light turns dark or back. Other classes come and go on the body with every run.
  function onTheme(act) {
    let was = isDark();
    new MutationObserver(() => {
      if (isDark() === was) return;
      was = isDark();
      act();
    }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  }

  return { isDark, onTheme, visible, short, exists, number, percent, probability, score, fill, tokens, el, svg, write };
})();
