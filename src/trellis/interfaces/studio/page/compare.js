// Compare: two models on the same text or corpus, where they differ first, with McNemar's test.
import { ask, chooseModel, make, percent, table, taggers } from "/studio/page.js";

export function compare(view, state) {
  const models = taggers(state);
  if (models.length < 2) {
    view.append(make("p", {}, "Comparison needs two taggers: trellis studio CORPUS -m MODEL_A -m MODEL_B"));
    return;
  }
  const chosen = [models[0].name, models[1].name];
  const result = make("div", { "aria-live": "polite" });
  const text = make("textarea", { id: "compared", dir: "auto" });
  view.append(
    make("div", { class: "row" },
      chooseModel(models, chosen[0], (name) => { chosen[0] = name; }, "Model A"),
      chooseModel(models, chosen[1], (name) => { chosen[1] = name; }, "Model B")),
    make("label", { for: "compared" }, "Text"), text,
    make("div", { class: "row" },
      make("button", { class: "main", onclick: () => run({ text: text.value }) }, "Compare on this text"),
      make("button", { onclick: () => run({}), disabled: !state.corpus }, "Compare on the corpus")),
    result);

  async function run(body) {
    result.replaceChildren("Computing …");
    const found = await ask("/studio/api/compare", { models: chosen, ...body });
    if (!found) { result.replaceChildren(); return; }
    const parts = [make("h2", {}, `${found.differ} of ${found.total} sentences differ`)];
    if (found.scores) {
      parts.push(table(["", chosen[0], chosen[1]], [
        ["score, %", percent(found.scores[0]), percent(found.scores[1])],
        ["token accuracy, %", percent(found.accuracies[0]), percent(found.accuracies[1])],
        ["tokens only this model labels correctly", found.only_right[0], found.only_right[1]],
      ]), make("p", {}, `McNemar's test: p = ${found.p < 0.0001 ? found.p.toExponential(1) : found.p.toFixed(4)}`));
    }
    parts.push(...found.sentences.filter((one) => one.one.some((label, t) => label !== one.other[t])).map(sentence));
    result.replaceChildren(...parts);
  }

  function sentence(one) {
    const rows = one.words.map((word, t) => [t, word]).filter(([t]) => one.one[t] !== one.other[t])
      .map(([t, word]) => [word, one.one[t], one.other[t], ...(one.gold ? [one.gold[t]] : [])]);
    return make("section", {},
      make("p", { dir: "auto" }, make("span", { class: "quiet" }, `${one.number}. `),
        one.words.map((word, t) => [one.one[t] !== one.other[t] ? make("strong", {}, word) : word, " "])),
      table(["word", chosen[0], chosen[1], ...(one.gold ? ["gold"] : [])], rows));
  }
}
