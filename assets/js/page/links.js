// A link that carries the prompt and every setting, and the way back from one. What a link says
// is checked against what the controls allow; anything else in it is left out.
const Links = (() => {
  const names = Object.keys(FACTS.controls);

  function checked(name, text) {
    const rule = FACTS.controls[name];
    if (rule.choices) return rule.choices.includes(text) ? text : undefined;
    if (rule.length !== undefined) return Array.from(text).length <= rule.length ? text : undefined;
    const value = Number(text);
    const fits = text.trim() !== "" && value >= rule.low && value <= rule.high && (!rule.whole || Number.isInteger(value));
    return fits ? value : undefined;
  }

  function from(values) {
    const asked = new URLSearchParams(location.search);
    return values.map((value, i) => {
      const found = asked.has(names[i]) ? checked(names[i], asked.get(names[i])) : undefined;
      return found === undefined ? value : found;
    });
  }

  function to(values) {
    const link = new URL(location.href);
    const kept = ["__theme", "lang"].filter((name) => link.searchParams.has(name)).map((name) => [name, link.searchParams.get(name)]);
    const own = names.map((name, i) => [name, values[i]]).filter(([, value]) => value !== null && value !== undefined);
    link.search = new URLSearchParams([...kept, ...own]).toString();
    return link.href;
  }

  return { from, to };
})();
window.sporkFromLink = Links.from;
