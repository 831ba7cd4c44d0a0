// Errors: a corpus evaluated; confusions as a heat map whose cells lead to sentences; reliability; training; lengths.
import { ask, chooseModel, draw, make, percent, table, taggers } from "/studio/page.js";

export function errors(view, state) {
  if (!state.corpus) {
    view.append(make("p", {}, "Error analysis needs a corpus with gold labels: trellis studio CORPUS -m MODEL"));
    return;
  }
  const models = taggers(state);
  let model = models[0].name;
  const result = make("div", { "aria-live": "polite" });
  view.append(make("div", { class: "row" }, chooseModel(models, model, (name) => { model = name; run(); })), result);

  async function run() {
    result.replaceChildren("Computing …");
    const found = await ask("/studio/api/errors", { model });
    if (!found) { result.replaceChildren(); return; }
    const examples = make("section", { id: "examples", tabindex: "-1", "aria-live": "polite" });
    result.replaceChildren(
      figures(found),
      make("div", { class: "side" }, ...charts(found)),
      make("h2", {}, "Confusion matrix"), heat(found, examples), examples,
      make("h2", {}, "Labels"), scores(found.error_analysis.rows));
  }
  run();
}

function figures(found) {
  const { rows, micro_avg, ...report } = found.report, analysis = found.error_analysis;
  const accuracy = (name, value) => (value === undefined ? {} : { [name]: { f1: value } });
  return scores({ ...(micro_avg ? { ...rows, "micro avg": micro_avg } : {}),
    ...accuracy("known words", analysis.known_words), ...accuracy("unknown words", analysis.unknown_words),
    ...accuracy("token accuracy", report.token_accuracy), ...accuracy("sentence accuracy", report.sentence_accuracy) });
}

function scores(rows) {
  const share = (value) => (value === undefined ? "" : percent(value));
  return table(["", "precision", "recall", "F1", "support"], Object.entries(rows).map(([name, row]) =>
    [name, share(row.precision), share(row.recall), share(row.f1), row.support ?? ""]));
}

function charts(found) {
  const out = [];
  for (const [name, one] of [["tokens", found.calibration && found.calibration.tokens], ["spans", found.calibration && found.calibration.spans]]) {
    if (one) out.push(figure(`Calibration (${name}), ECE ${one.ece.toFixed(4)}`, reliability(one)));
  }
  const objective = found.history.filter((one) => "objective" in one).map((one) => [one.epoch, one.objective]);
  const dev = found.history.filter((one) => "dev_score" in one).map((one) => [one.epoch, 100 * one.dev_score]);
  if (objective.length > 1) out.push(figure("Training: objective by epoch", line(objective)));
  if (dev.length > 1) out.push(figure("Training: score on dev by epoch, %", line(dev)));
  out.push(make("figure", {}, make("figcaption", {}, "Token accuracy by sentence length"),
    table(["words", "accuracy, %", "sentences"], found.lengths.map(([low, high, n, share]) => [high ? `${low}–${high}` : `${low} or more`, percent(share), n]))));
  return out;
}

function figure(title, chart) {
  return make("figure", {}, make("figcaption", {}, title), chart);
}

const WIDTH = 360, HEIGHT = 220;

function frame(name, ...parts) {
  return draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img", "aria-label": name }, ...parts);
}

function reliability(one) {
  const x = (v) => 40 + 300 * v, y = (v) => 200 - 190 * v;
  const most = Math.max(1, ...one.bins.map((bin) => bin.n));
  return frame("reliability diagram",
    draw("path", { d: `M${x(0)} ${y(1)}V${y(0)}H${x(1)}`, fill: "none", stroke: "currentColor", opacity: 0.5 }),
    draw("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), stroke: "currentColor", "stroke-dasharray": "4 4", opacity: 0.6 }),
    draw("text", { x: 190, y: 215, "text-anchor": "middle", fill: "currentColor", "font-size": 11 }, "confidence"),
    draw("text", { x: 20, y: 105, "text-anchor": "middle", fill: "currentColor", "font-size": 11, transform: "rotate(-90 20 105)" }, "accuracy"),
    one.bins.filter((bin) => bin.n).map((bin) => draw("circle", { cx: x(bin.confidence), cy: y(bin.accuracy), r: 3 + 8 * Math.sqrt(bin.n / most), fill: "#3f74b8", opacity: 0.8 },
      draw("title", {}, `confidence ${bin.confidence.toFixed(3)}, accuracy ${bin.accuracy.toFixed(3)}, count ${bin.n}`))));
}

export function line(points) {
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const x = (v) => 60 + 290 * (v - x0) / (x1 - x0 || 1), y = (v) => 195 - 180 * (v - y0) / (y1 - y0 || 1);
  const text = (v) => (Math.abs(v) >= 1000 ? Math.round(v).toLocaleString("en") : v.toPrecision(4));
  return frame("curve",
    draw("path", { d: "M60 10V195H350", fill: "none", stroke: "currentColor", opacity: 0.5 }),
    draw("polyline", { points: points.map(([a, b]) => `${x(a)},${y(b)}`).join(" "), fill: "none", stroke: "#3f74b8", "stroke-width": 2 }),
    draw("text", { x: 55, y: 18, "text-anchor": "end", fill: "currentColor", "font-size": 11 }, text(y1)),
    draw("text", { x: 55, y: 198, "text-anchor": "end", fill: "currentColor", "font-size": 11 }, text(y0)),
    draw("text", { x: 60, y: 212, fill: "currentColor", "font-size": 11 }, String(x0)),
    draw("text", { x: 350, y: 212, "text-anchor": "end", fill: "currentColor", "font-size": 11 }, String(x1)));
}

function heat(found, place) {
  const wrong = new Map();
  for (const [gold, predicted, n] of found.error_analysis.confusions) {
    wrong.set(gold, (wrong.get(gold) || 0) + n);
    wrong.set(predicted, (wrong.get(predicted) || 0) + n);
  }
  const names = [...wrong.keys()].sort((a, b) => wrong.get(b) - wrong.get(a)).slice(0, 30).sort();
  if (!names.length) return make("p", {}, "No errors.");
  const count = new Map(found.error_analysis.confusions.map(([gold, predicted, n]) => [`${gold}\n${predicted}`, n]));
  const shade = (n, total) => (n ? `h${Math.max(1, Math.min(5, Math.ceil(5 * Math.sqrt(n / Math.max(1, total)))))}` : "");
  const cell = (gold, predicted) => {
    const total = found.error_analysis.rows[gold].support;
    if (gold === predicted) return make("td", { class: shade(found.error_analysis.rows[gold].correct, total) }, String(found.error_analysis.rows[gold].correct || ""));
    const n = count.get(`${gold}\n${predicted}`) || 0;
    return make("td", { class: shade(n, total) }, n ? make("button", { "aria-label": `${n} times gold ${gold}, predicted ${predicted}`, onclick: () => show(found, gold, predicted, place) }, String(n)) : "");
  };
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "confusion matrix" }, make("table", { class: "heat" },
    make("thead", {}, make("tr", {}, make("td", {}, "gold ↓ predicted →"), names.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, names.map((gold) => make("tr", {}, make("th", { scope: "row" }, gold), names.map((predicted) => cell(gold, predicted)))))));
}

function show(found, gold, predicted, place) {
  const entry = found.examples.find(([a, b]) => a === gold && b === predicted);
  const numbers = entry ? entry[2] : [];
  place.replaceChildren(make("h2", {}, `Gold ${gold}, predicted ${predicted}`), make("p", { class: "quiet" }, "Highlighted: this error. Underlined: other errors."), make("ol", {}, numbers.map((number) => {
    const one = found.sentences[number];
    return make("li", { value: number, dir: "auto" }, one.words.map((word, t) => {
      if (one.gold[t] === gold && one.predicted[t] === predicted) return [make("mark", { class: "c1" }, word), " "];
      if (one.gold[t] !== one.predicted[t]) return [make("span", { class: "wrong", title: `gold ${one.gold[t]}, predicted ${one.predicted[t]}` }, word), " "];
      return `${word} `;
    }));
  })));
  place.focus();
}
