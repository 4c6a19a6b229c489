// A sweep as a file: the cells with what they were measured on, as CSV or as JSON.
const TableFile = (() => {
  const COLUMNS = ["k", "m", "tau", "tokens_per_s", "speedup", "tokens_per_round", "acceptance_rate", "identical", "settled"];
  const rows = (sweep) => [...sweep.cells.values()].sort((a, b) => b.tau - a.tau || a.k - b.k || a.m - b.m);

  const csv = (sweep) => [COLUMNS.join(","), ...rows(sweep).map((cell) => COLUMNS.map((name) => cell[name] ?? "").join(","))].join("\r\n") + "\r\n";
  const json = (sweep) => `${JSON.stringify({
    started: sweep.started, prompts: sweep.prompts, finished: sweep.finished, cells: rows(sweep).map(({ event, ...cell }) => cell),
  }, null, 1)}\n`;

  return { csv, json };
})();
