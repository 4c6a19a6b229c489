// The learn view: one chapter at a time, with the run's own trees. It needs no model.
const Learn = (() => {
  const { el } = Format;
  const root = element.querySelector(".spork-learn");
  const state = Store.empty();
  const count = el("p", { class: "sp-lesson-count" });
  const title = el("h2", { tabindex: "-1", id: "sp-lesson-title" });
  const lines = el("div", { class: "sp-lesson-lines" }), box = el("div", { class: "sp-lesson-box" });
  const move = (name, by) => {
    const node = el("button", { type: "button", class: by > 0 ? "sp-button is-main" : "sp-button" }, TEXT[name]);
    node.addEventListener("click", () => (chapters[at + by] ? go(at + by, true) : leave()));
    return node;
  };
  const back = move("lesson_back", -1), next = move("lesson_next", 1);
  const dots = el("ol", { class: "sp-lesson-dots" });
  root.append(el("section", { class: "sp-panel sp-lesson", "aria-labelledby": title.id },
    el("header", { class: "sp-lesson-head" }, count, title), lines, box, el("div", { class: "sp-lesson-foot" }, back, dots, next)));
  let at = 0, chapters = [], library = null, trees = [];

  // Put a tree into a box; the function it returns draws another round in its place.
  function plot(parent, first) {
    const tree = Tree.mount(parent, () => {});
    trees.push(tree);
    const show = ({ round, layout }) => { tree.show(round, layout); tree.draw(); };
    if (library) tree.ready(library);
    show(first);
    return show;
  }

  // After the last step the visitor's own prompt is next.
  function leave() {
    window.dispatchEvent(new CustomEvent("spork:open", { detail: "race" }));
    document.getElementById("sp-tab-race").focus();
  }

  function go(to, byHand) {
    at = Math.max(0, Math.min(chapters.length - 1, to));
    const chapter = chapters[at];
    if (!chapter) return;
    trees = [];
    Format.write(count, Format.fill(TEXT.lesson_count, { n: at + 1, total: chapters.length }));
    Format.write(title, chapter.title);
    lines.replaceChildren(...chapter.lines.map((line) => el("p", {}, line)));
    box.replaceChildren();
    chapter.draw(box);
    back.disabled = at === 0;
    Format.write(next, TEXT[at === chapters.length - 1 ? "lesson_race" : "lesson_next"]);
    dots.replaceChildren(...chapters.map((one, i) => {
      const dot = el("button", { type: "button", "aria-label": `${i + 1}. ${one.title}`, "aria-current": i === at ? "step" : null });
      dot.addEventListener("click", () => go(i, true));
      return el("li", {}, dot);
    }));
    if (byHand) title.focus();
  }

  if (props.value) Store.take(state, Store.read(props.value));
  if (state.rounds.length) {
    chapters = Chapters.of(state, plot, FACTS.start, FACTS.answers);
    // Drawn when first seen: a hidden box has no width to draw in.
    let begun = false;
    const begin = () => {
      if (begun || document.body.dataset.tab !== "learn") return;
      begun = true;
      go(0, false);
      PlotlySource.load(FACTS.plotly).then((plotly) => { library = plotly; trees.forEach((tree) => tree.ready(plotly)); }, () => trees.forEach((tree) => tree.failed()));
    };
    window.addEventListener("spork:tab", begin);
    begin();
    Format.onTheme(() => trees.forEach((tree) => tree.repaint()));
  } else Format.write(title, TEXT.learn_none);
  return {};
})();
