// A run or a race as one picture to share: 1200 x 630, light, words only from `TEXT` and figures
// only from the recorded metrics. Everything a visitor or a model wrote goes in as a text node.
const Card = (() => {
  const WIDTH = 1200, HEIGHT = 630, LEFT = 64;
  const INK = "#161a20", MUTED = "#59616d", PAPER = "#f6f5f1", LINE = "#d8d5cc";
  const FILL = { spork: "#0072b2", greedy: "#8a8f97" };

  const write = (x, y, size, words, more = {}) => Format.svg("text", { x, y, "font-size": size, fill: INK, ...more }, words);
  const cut = (words, limit) => { const all = Array.from(words.replace(/\s+/g, " ")); return all.length > limit ? `${all.slice(0, limit - 1).join("")}…` : all.join(""); };

  // bars: [{name, value, words, kind}]; figures: [{name, value}]; every word is ready to show.
  function build({ headline, subline, prompt, bars, figures, foot }) {
    const svg = Format.svg("svg", { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "font-family": "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans CJK SC', 'Liberation Sans', sans-serif" });
    svg.append(Format.svg("rect", { width: WIDTH, height: HEIGHT, fill: PAPER }));
    svg.append(write(LEFT, 84, 30, "SPORK", { "font-weight": 800, "letter-spacing": 1 }));
    svg.append(write(WIDTH - LEFT, 84, 20, cut(subline, 70), { fill: MUTED, "text-anchor": "end" }));
    svg.append(write(LEFT, 166, 46, cut(headline, 42), { "font-weight": 700 }));
    svg.append(write(LEFT, 212, 22, `“${cut(prompt, 92)}”`, { fill: MUTED }));
    const top = Math.max(...bars.map((bar) => bar.value || 0)) || 1;
    bars.forEach((bar, i) => {
      const y = 262 + i * 70;
      svg.append(write(LEFT, y + 32, 22, bar.name, { "font-weight": 600 }));
      svg.append(Format.svg("rect", { x: LEFT + 150, y, width: Math.max(4, (560 * (bar.value || 0)) / top), height: 46, rx: 4, fill: FILL[bar.kind] }));
      svg.append(write(LEFT + 166 + (560 * (bar.value || 0)) / top, y + 32, 24, bar.words, { "font-weight": 700 }));
    });
    const y = 262 + bars.length * 70 + 24;
    svg.append(Format.svg("line", { x1: LEFT, x2: WIDTH - LEFT, y1: y, y2: y, stroke: LINE, "stroke-width": 2 }));
    figures.forEach((figure, i) => {
      const x = LEFT + (i * (WIDTH - 2 * LEFT)) / figures.length;
      svg.append(write(x, y + 40, 18, figure.name, { fill: MUTED }), write(x, y + 80, 32, figure.value, { "font-weight": 700 }));
    });
    svg.append(write(LEFT, HEIGHT - 40, 17, cut(foot, 130), { fill: MUTED }));
    return svg;
  }
  return { build };
})();
