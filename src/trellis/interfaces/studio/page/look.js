// Look: text in, labels out; the trellis drawn; nodes forced and forbidden; why a token has its label. Of other tasks
// than tagging the picture, the best outputs and the terms of the score.
import { ask, chooseModel, colours, draw, later, make, newest, table } from "/studio/page.js";
import { picture, rowsOf } from "/studio/trellis_picture.js";

const kept = { text: "", model: null, which: 0 };
const MOST = 12;

export function look(view, state) {
  kept.model = state.models.some((one) => one.name === kept.model) ? kept.model : state.models[0].name;
  let forced = new Map(), forbidden = new Set(), other = null, most = MOST;
  const facts = () => state.models.find((one) => one.name === kept.model);
  const text = make("textarea", { id: "text", dir: "auto", spellcheck: "false", oninput: later(() => changed(), 120) });
  const hint = make("p", { class: "quiet" });
  const result = make("div", { "aria-live": "polite" }), why = make("section", { "aria-live": "polite" });
  text.value = kept.text;
  view.append(
    make("div", { class: "row" }, chooseModel(state.models, kept.model, (name) => { kept.model = name; changed(); })),
    make("label", { for: "text" }, "Text"), text, hint, result, why);

  function question() {
    const one = facts(), body = { model: kept.model };
    if (one.attributes) {
      hint.textContent = "One token per line, attributes separated by tabs.";
      body.sentence = text.value.split("\n").filter((line) => line).map((line) => Object.fromEntries(line.split("\t").map((name) => [name, 1])));
    } else if (one.columns.length > 1) {
      hint.textContent = `One token per line, fields separated by spaces: ${one.columns.join(" ")}`;
      body.sentence = text.value.split("\n").filter((line) => line.trim()).map((line) => line.trim().split(/\s+/));
    } else {
      hint.textContent = "";
      body.text = text.value;
      body.which = kept.which;
    }
    return body;
  }

  function allowed(found) {
    const out = {};
    for (const [t, z] of forced) out[t] = found.labels[z];
    const tokens = new Set([...forbidden].map((pair) => Number(pair.split(",")[0])));
    for (const t of tokens) {
      if (!forced.has(t)) out[t] = found.labels.filter((_, z) => !forbidden.has(`${t},${z}`));
    }
    return Object.keys(out).length ? out : null;
  }

  const asked = newest(async (constraints, words) => {
    const body = question();
    if (words) { delete body.text; delete body.which; body.sentence = words; }
    if (constraints) body.allowed = constraints;
    return ask("/studio/api/look", { ...body, k: 5 });
  });

  let last = null;
  async function changed() {
    kept.text = text.value;
    forced = new Map(); forbidden = new Set(); other = null;
    why.replaceChildren();
    if (!text.value.trim()) { result.replaceChildren(); question(); return; }
    await again(null);
  }

  // Decode again under what is forced and forbidden; places of words stay those of the text.
  async function again(constraints) {
    const words = constraints && last ? last.words : null;
    const found = await asked(constraints, words);
    if (!found) return;
    if (words) { found.tokens = last.tokens; found.others = last.others; found.number = last.number; }
    const one = facts();
    last = { ...found, words: words || wordsOf(found, one) };
    show(found);
  }

  function wordsOf(found, one) {
    return one.attributes || one.columns.length > 1 ? question().sentence : found.tokens.map((token) => token.text);
  }

  function show(found) {
    if (!found.tokens.length) { result.replaceChildren(); return; }
    if (facts().task !== "tag") { result.replaceChildren(found.others > 1 ? sentences(found) : "", ...overview(found)); return; }
    const rows = rowsOf(found, most, forced, forbidden);
    const drawn = picture(found, { rows, forced, forbidden, other,
      onnode: (t, z) => toggle(t, z, found), ontoken: (t) => explain(t, found) });
    const focus = document.activeElement && document.activeElement.dataset ? [document.activeElement.dataset.token, document.activeElement.dataset.label] : null;
    result.replaceChildren(
      found.others > 1 ? sentences(found) : "",
      spans(found),
      make("h2", {}, "Trellis"),
      make("p", { class: "quiet" }, "Click a circle to force a label, again to forbid it, again to reset it. Click a word to explain its label."),
      make("div", { class: "scroll", tabindex: "0", "aria-label": "trellis of the sentence", role: "region" }, drawn),
      make("div", { class: "row" },
        make("button", { onclick: () => { forced = new Map(); forbidden = new Set(); again(null); }, disabled: !forced.size && !forbidden.size }, "Reset"),
        make("button", { onclick: () => { most = most === MOST ? 1000 : MOST; show(found); } }, most === MOST ? "All labels" : "Fewer labels")),
      make("h2", {}, "k best label sequences"), paths(found, drawn));
    if (focus && focus[0] !== undefined) {
      const again = result.querySelector(`g.node[data-token="${focus[0]}"][data-label="${CSS.escape(focus[1])}"]`);
      if (again) again.focus();
    }
  }

  function sentences(found) {
    const go = (step) => { kept.which = Math.max(0, Math.min(found.others - 1, found.number + step)); changed(); };
    return make("div", { class: "row" },
      make("button", { onclick: () => go(-1), disabled: found.number === 0 }, "Previous"),
      make("span", {}, `sentence ${found.number + 1} of ${found.others}`),
      make("button", { onclick: () => go(1), disabled: found.number + 1 >= found.others }, "Next"));
  }

  function spans(found) {
    const sure = (p) => `p${Math.min(4, Math.floor(5 * p))}`;
    const marks = found.spans
      ? found.spans
      : found.best.map((z, t) => ({ start_token: t, end_token: t + 1, label: found.labels[z], confidence: found.node[t][z] }));
    // Of all labels of the model, so that a label has the same colour in every sentence.
    const types = found.spans ? found.labels.filter((name) => /^[A-Z]-/.test(name)).map((name) => name.slice(2)) : found.labels;
    const colour = colours([...types, ...marks.map((one) => one.label)]);
    const parts = [];
    let at = 0;
    const words = (a, b) => found.tokens.slice(a, b).map((token) => token.text).join(" ");
    for (const one of marks) {
      if (one.start_token > at) parts.push(`${words(at, one.start_token)} `);
      parts.push(make("mark", { class: `${colour.get(one.label)} ${sure(one.confidence)}`, title: `${one.label}: ${one.confidence.toFixed(4)}` },
        words(one.start_token, one.end_token), make("b", {}, one.label), make("span", { class: "visually-hidden" }, ` ${found.probability_kind} ${one.confidence.toFixed(2)}`)), " ");
      at = one.end_token;
    }
    parts.push(words(at, found.tokens.length));
    return make("p", { class: "spans", dir: "auto" }, parts);
  }

  function toggle(t, z, found) {
    const pair = `${t},${z}`;
    if (forced.get(t) === z) { forced.delete(t); forbidden.add(pair); }
    else if (forbidden.has(pair)) forbidden.delete(pair);
    else { forced.set(t, z); for (const one of [...forbidden]) if (one.startsWith(`${t},`)) forbidden.delete(one); }
    other = null;
    again(allowed(found));
  }

  function paths(found) {
    const top = found.kbest[0].score;
    return make("ol", { class: "paths" }, found.kbest.map((one, i) => make("li", {},
      make("button", { onpointerenter: () => point(one, i, found), onpointerleave: () => point(null, 0, found), onfocus: () => point(one, i, found), onblur: () => point(null, 0, found) },
        one.labels.map((z, t) => [z === found.best[t] ? found.labels[z] : make("strong", {}, found.labels[z]), " "]),
        make("span", { class: "quiet" }, `score ${one.score.toFixed(3)}${i === 0 ? "" : ` (${(one.score - top).toFixed(3)})`}`)))));
  }

  // The path that is pointed at is drawn; the rest of the page stays as it is.
  function point(one, i, found) {
    other = one && i > 0 ? one.labels : null;
    const rows = rowsOf({ ...found, best: other ? [...found.best, ...other] : found.best }, most, forced, forbidden);
    const drawn = picture(found, { rows, forced, forbidden, other, onnode: (t, z) => toggle(t, z, found), ontoken: (t) => explain(t, found) });
    const old = result.querySelector("svg.trellis");
    if (old) old.replaceWith(drawn);
  }

  async function explain(t, found) {
    const body = { model: kept.model, sentence: last.words, labels: 100, terms: 12 };
    const constraints = allowed(found);
    if (constraints) body.allowed = constraints;
    const answer = await ask("/v1/explain", body);
    if (!answer) return;
    const token = answer.explanations[0].tokens[t];
    // The label that it has, against the most probable other one.
    const others = found.labels.map((_, z) => z).filter((z) => found.labels[z] !== token.label && found.labels[z] in token.terms);
    others.sort((a, b) => found.node[t][b] - found.node[t][a]);
    const shown = [token.label, ...others.slice(0, 1).map((z) => found.labels[z])];
    const greatest = Math.max(0.001, ...shown.flatMap((label) => token.terms[label]).map((term) => Math.abs(term.weight)));
    const bars = (label) => table(["feature", "weight"], token.terms[label].map((term) => [term.feature, weight(term.weight, greatest)]));
    why.replaceChildren(
      make("h2", { tabindex: "-1" }, `Why ${found.tokens[t].text} is ${token.label}`),
      make("div", { class: "side" }, shown.map((label) => make("div", {}, make("h3", {}, `${label}: ${token.scores[label].toFixed(3)}`), bars(label)))),
      token.transitions.length ? make("div", {}, make("h3", {}, "Transitions"), table(["feature", "label", "weight"],
        token.transitions.map((term) => [term.feature, term.label, weight(term.weight, Math.max(0.001, ...token.transitions.map((other) => Math.abs(other.weight))))]))) : "");
    why.querySelector("h2").focus();
  }

  changed();
}

// The picture, where the task has one, the best outputs, and why the first beats the second.
function overview(found) {
  const parts = [];
  if (found.picture) {
    const image = make("img", { class: "picture", alt: `picture of ${found.tokens.map((token) => token.text).join(" ")}`,
      src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(found.picture)}` });
    parts.push(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "picture of the sentence" }, image));
  }
  if (found.columns) {
    parts.push(make("h2", {}, "Words"), table(["id", ...found.columns], found.words.map((word, i) => [`${i + 1}`, ...word.map((value) => (value === null ? "" : `${value}`))])));
    return parts;
  }
  const score = (value) => (value === null ? "" : value.toFixed(3));
  parts.push(make("h2", {}, "k best outputs"),
    make("ol", { class: "paths" }, found.kbest.map((one) => make("li", {}, `${one.output} `, make("span", { class: "quiet" }, score(one.score))))));
  const { terms, difference, second } = found.explanation;
  for (const [title, all] of [["Terms of the score with the largest weights", terms], ["Score difference to the second best", second ? difference : []]]) {
    const some = all.filter((term) => term.weight !== null);
    if (!some.length) continue;
    const greatest = Math.max(0.001, ...some.map((term) => Math.abs(term.weight)));
    parts.push(make("h2", {}, title), table(["where", "feature", "label", "weight"],
      some.map((term) => [term.where.join(" – "), term.feature, term.label, weight(term.weight, greatest)])));
  }
  return parts;
}

function weight(value, greatest) {
  // Positive weights to the right in blue, negative ones to the left in red.
  const width = 48 * Math.min(1, Math.abs(value) / greatest);
  const bar = draw("svg", { class: "weight", viewBox: "0 0 100 12", width: 100, height: 12, "aria-hidden": "true" },
    draw("rect", { class: value < 0 ? "against" : "for", x: value < 0 ? 50 - width : 50, y: 1, width, height: 10 }),
    draw("line", { x1: 50, y1: 0, x2: 50, y2: 12 }));
  return make("span", {}, bar, ` ${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(3)}`);
}
