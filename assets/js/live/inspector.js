// A node's numbers in words: the line under the tree, and the whole round as a table.
const Inspector = (() => {
  const STATUS = { accepted: "●", rejected: "○", bonus: "▲", fallback: "◆", plain: "·", root: "■" };

  function why(round, node) {
    if (node.status !== "rejected") return TEXT[`why_${RunNotes.status(round, node)}`];
    const parent = round.nodes.find((n) => n.id === node.parent);
    if (parent && parent.status === "rejected") return TEXT.why_parent;
    if (node.score === null) return TEXT.why_unscored;
    const values = { score: Format.probability(node.score), tau: Format.number(round.tau, 2) };
    if (node.score < round.tau) return Format.fill(TEXT.why_below, values);
    return round.tau >= 1 ? TEXT.why_mismatch : Format.fill(TEXT.why_other, values);
  }

  function facts(round, node) {
    const status = RunNotes.status(round, node), margin = node.score === null ? null : node.score - round.tau;
    return [
      [TEXT.fact_status, `${STATUS[status]} ${TEXT[`status_${status}`]}`],
      [TEXT.fact_score, Format.probability(node.score)],
      [TEXT.fact_margin, margin === null ? TEXT.none : `${margin < 0 ? "−" : "+"}${Math.abs(margin).toFixed(3)}`],
      [TEXT.fact_draft, Format.probability(node.draft_p)],
      [TEXT.fact_rank, String(node.rank + 1)],
      [TEXT.fact_depth, String(node.depth)],
      [TEXT.fact_id, String(node.token_id)],
    ];
  }

  function mount(parent, say) {
    const token = Format.el("strong", { class: "sp-node-token" });
    const list = Format.el("dl", { class: "sp-node-facts" });
    const reason = Format.el("span", { class: "sp-node-why" });
    const card = Format.el("div", { class: "sp-node" }, token, list, reason);
    const body = Format.el("tbody");
    const caption = Format.el("caption");
    const heads = ["head_node", "head_parent", "fact_depth", "fact_rank", "head_token", "fact_id", "fact_draft", "fact_score", "fact_margin", "fact_status", "head_why"];
    const head = Format.el("tr", {}, ...heads.map((name) => Format.el("th", { scope: "col" }, TEXT[name])));
    const table = Format.el("table", {}, caption, Format.el("thead", {}, head), body);
    const details = Format.el("details", { class: "sp-table" },
      Format.el("summary", {}, TEXT.table_title), Format.el("div", { class: "sp-table-scroll", tabindex: "0", role: "region", "aria-label": TEXT.table_title }, table));
    parent.append(card, details);
    let current = null, filled = null;

    function show(round, index, aloud) {
      const node = index === null || !round ? null : index === 0 ? { status: "root" } : round.nodes[index - 1];
      card.classList.toggle("is-empty", !node);
      if (!node) {
        list.replaceChildren();
        Format.write(token, "");
        Format.write(reason, TEXT.node_hint);
        return;
      }
      const root = node.status === "root";
      const shown = Format.visible(root ? round.root_text : node.text);
      const rows = root ? [[TEXT.fact_id, String(round.root_id)]] : facts(round, node);
      const words = root ? TEXT.node_root_why : why(round, node);
      Format.write(token, shown);
      list.replaceChildren(...rows.map(([name, value]) => Format.el("div", {}, Format.el("dt", {}, name), Format.el("dd", {}, value))));
      Format.write(reason, words);
      if (aloud) say(`${shown}: ${rows.map((r) => r.join(" ")).join(", ")}. ${words}`);
    }

    // The table costs a hundred cells, so it is filled only while it is open.
    function fillTable() {
      if (!details.open || filled === current) return;
      filled = current;
      const round = current;
      if (!round) return body.replaceChildren();
      Format.write(caption, Format.fill(TEXT.table_caption, { n: round.index + 1, reason: RunNotes.reason(round) }));
      body.replaceChildren(...round.nodes.map((node) => {
        const [status, score, margin, draft, rank, depth, id] = facts(round, node).map((row) => row[1]);
        const cells = [node.id, node.parent, depth, rank, Format.visible(node.text), id, draft, score, margin, status, why(round, node)];
        return Format.el("tr", { class: `is-${node.status}` }, ...cells.map((cell) => Format.el("td", {}, String(cell))));
      }));
    }
    details.addEventListener("toggle", fillTable);
    show(null, null);

    return {
      node: show,
      round(round) {
        if (current !== round) show(round, null);
        current = round;
        fillTable();
      },
    };
  }
  return { mount, STATUS };
})();
