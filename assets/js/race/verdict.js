// Who was faster, by how much, whether the texts are the same, and how it was measured.
const Verdict = (() => {
  const { el } = Format;

  // Two greedy runs this far apart say that the machine was busy with something else.
  const UNEVEN = 1.15;
  const greedyRates = (race) => race.greedy.map((run) => run.finished.metrics.tokens_per_s);

  const ratesInWords = (race) => greedyRates(race).map((rate) => Format.number(rate, 1)).join(TEXT.and);

  // The speed-up against each greedy run by itself: how far the headline may be trusted.
  function range(race) {
    const rate = race.spork[0].finished.metrics.tokens_per_s, all = greedyRates(race).map((greedy) => rate / greedy).sort((a, b) => a - b);
    return all.every(Format.exists) ? all.map((x) => `${x.toFixed(2)}×`) : null;
  }

  function rangeInWords(race) {
    const found = range(race);
    if (!found) return "";
    const [low, high] = found;
    return Format.fill(low === high ? TEXT.race_range_one : TEXT.race_range, { low, high, rates: ratesInWords(race) });
  }

  function tooClose(race) {
    const rates = greedyRates(race), apart = Math.max(...rates) / Math.min(...rates), x = race.spork[0].finished.metrics.speedup;
    return apart > UNEVEN && x < apart && x > 1 / apart;
  }

  function sentence(race) {
    const figures = race.spork[0].finished.metrics;
    if (!Format.exists(figures.speedup)) return TEXT.race_no_figure;
    if (tooClose(race)) return TEXT.race_too_close;
    const x = figures.speedup.toFixed(2);
    return Format.fill(figures.speedup < 1 ? TEXT.race_slower : TEXT.race_faster, { x });
  }

  function how(race) {
    const { started, finished } = race.spork[0];
    return [
      Format.fill(TEXT.how_order, { n: finished.token_ids.length }),
      Format.fill(TEXT.how_spread, { rates: ratesInWords(race) }),
      Measured.machine(started),
      TEXT.how_clock,
    ];
  }

  function card(race) {
    const { started, finished } = race.spork[0], figures = finished.metrics;
    const config = started.config;
    const named = (value) => `${Format.number(value, 1)} ${TEXT.rate}`;
    return {
      name: "spork-race",
      node: Card.build({
        headline: sentence(race), subline: [...(range(race) ? [range(race).join(" – ")] : []), Measured.inBrief(started)].join(" · "), prompt: started.prompt,
        bars: [
          { name: TEXT.greedy, value: figures.greedy_tokens_per_s, words: named(figures.greedy_tokens_per_s), kind: "greedy" },
          { name: "SPORK", value: figures.tokens_per_s, words: named(figures.tokens_per_s), kind: "spork" },
        ],
        figures: [
          { name: TEXT.per_round, value: Format.number(figures.tokens_per_round, 2) }, { name: TEXT.acceptance, value: Format.percent(figures.acceptance_rate) },
          { name: "K · M · tau", value: Measured.shape(config) }, { name: TEXT.card_text, value: figures.parity && figures.parity.identical ? TEXT.card_same : TEXT.card_differs },
        ],
        foot: `${config.proposer} + ${config.verifier} · ${TEXT.card_foot}`,
      }),
    };
  }

  function mount(parent, open) {
    const words = el("p", { class: "sp-verdict" }), same = el("p", { class: "sp-parity" });
    const noise = el("p", { class: "sp-intro" });
    const list = Measured.card([]);
    const show = el("button", { type: "button", class: "sp-button" }, TEXT.race_open);
    show.addEventListener("click", open);
    let race = null;
    const box = el("section", { class: "sp-panel is-verdict", "aria-label": TEXT.verdict_title, hidden: true },
      words, noise, same, el("div", { class: "sp-verdict-tools" }, show, Save.buttons(TEXT.save_card, () => race && card(race))),
      el("details", { class: "sp-more" }, el("summary", {}, TEXT.how_title), list));
    parent.append(box);
    return {
      show(finished) {
        race = finished;
        box.hidden = !race;
        if (!race) return;
        const figures = race.spork[0].finished.metrics;
        const close = Format.exists(figures.speedup) && tooClose(race);
        Format.write(words, sentence(race));
        words.classList.toggle("is-slower", figures.speedup < 1 && !close);
        Format.write(noise, close ? Format.fill(TEXT.race_noise, { rates: ratesInWords(race), x: Format.number(figures.speedup, 2) }) : rangeInWords(race));
        Format.write(same, Measured.parity(figures.parity, race.spork[0].started.config));
        same.classList.toggle("is-different", Boolean(figures.parity && !figures.parity.identical));
        list.replaceChildren(...how(race).map((line) => el("li", {}, line)));
      },
    };
  }
  return { mount, sentence };
})();
