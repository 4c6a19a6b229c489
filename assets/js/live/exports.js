// Pictures of the live view: this round's tree, and the run's figures as a card.
const Exports = (() => {
  const name = (state, part) => `spork-${part}-${state.source || "empty"}`;

  async function tree(drawn, state) {
    const round = drawn.round;
    const node = round && await drawn.picture(Format.fill(TEXT.tree_picture_title, {
      n: round.index + 1, decision: TEXT[`chip_${RunNotes.kind(round)}`], tokens: Format.tokens(round.committed.length),
    }));
    return node && { name: name(state, `round-${round.index + 1}`), node };
  }

  function figures(state) {
    if (!state.started) return null;
    const found = Store.figures(state);
    const reference = found.greedy_tokens_per_s || (state.started.reference && state.started.reference.tokens_per_s);
    const bars = [{ name: "SPORK", value: found.tokens_per_s, words: `${Format.number(found.tokens_per_s, 1)} ${TEXT.rate}`, kind: "spork" }];
    if (reference) bars.push({ name: TEXT.greedy, value: reference, words: `${Format.number(reference, 1)} ${TEXT.rate}`, kind: "greedy" });
    return {
      name: name(state, "figures"),
      node: Card.build({
        headline: Format.exists(found.speedup) ? Format.fill(found.speedup < 1 ? TEXT.card_slower : TEXT.card_faster, { x: found.speedup.toFixed(2) }) : TEXT.gauges_title,
        subline: Measured.inBrief(state.started), prompt: state.started.prompt, bars,
        figures: [
          { name: TEXT.acceptance, value: Format.percent(found.acceptance_rate) }, { name: TEXT.jump, value: Format.number(found.mean_jump, 2) },
          { name: TEXT.per_round, value: Format.number(found.tokens_per_round, 2) }, { name: "K · M · tau", value: Measured.shape(state.started.config) },
        ],
        foot: found.speedup_paired ? TEXT.speedup_paired : TEXT.speedup_unpaired,
      }),
    };
  }

  return { tree, figures };
})();
