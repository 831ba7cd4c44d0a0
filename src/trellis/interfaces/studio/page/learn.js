// Learn: the perceptron on a small corpus, sentence by sentence; and Viterbi, cell by cell. For teachers.
import { ask, make, table } from "/studio/page.js";

const SAMPLE = "the/D man/N saw/V the/D dog/N\nthe/D saw/N can/M saw/V\nwe/P can/M saw/V the/D can/N";

export function learn(view) {
  const text = make("textarea", { id: "sample", spellcheck: "false" });
  text.value = SAMPLE;
  const shown = make("div"), cells = make("div");
  let steps = [], at = 0;
  view.append(
    make("label", { for: "sample" }, "Labelled sentences"), text,
    make("p", { class: "quiet" }, "One sentence per line, tokens as word/LABEL."),
    make("div", { class: "row" }, make("button", { class: "main", onclick: start }, "Start"),
      make("button", { onclick: () => step(-1) }, "Previous"), make("button", { onclick: () => step(1) }, "Next"),
      make("button", { onclick: () => step(steps.length) }, "Last")),
    shown, cells);

  async function start() {
    const sentences = text.value.split("\n").filter((line) => line.trim()).map((line) => line.trim().split(/\s+/).map((word) => {
      const cut = word.lastIndexOf("/");
      return [cut > 0 ? word.slice(0, cut) : word, cut > 0 ? word.slice(cut + 1) : ""];
    }));
    const found = await ask("/studio/api/learn", { sentences });
    if (!found) return;
    steps = found.steps; at = 0;
    show();
  }

  function step(by) {
    if (!steps.length) return;
    at = Math.max(0, Math.min(steps.length - 1, at + by));
    show();
  }

  function show() {
    const one = steps[at];
    const rows = one.words.map((word, t) => [word, one.gold[t], one.best[t] === one.gold[t] ? one.best[t] : make("strong", { class: "down" }, one.best[t])]);
    shown.replaceChildren(
      make("h2", {}, `Step ${at + 1} of ${steps.length}: epoch ${one.epoch}, sentence ${one.sentence + 1}`),
      make("div", { class: "side" },
        make("div", {}, table(["word", "gold", "predicted"], rows)),
        make("div", {}, make("h3", {}, one.changes.length ? "Weight updates" : "No error, no update"),
          one.changes.length ? table(["feature", "label", "change"], one.changes.map(([feature, label, by]) => [feature, label, make("span", { class: by > 0 ? "up" : "down" }, by > 0 ? `+${by}` : String(by))])) : ""),
        make("div", {}, make("h3", {}, "Weights after the update"), make("div", { class: "weights", tabindex: "0" }, table(["feature", "label", "weight"], one.weights)))));
    viterbi(one);
  }

  // Cell by cell: how the best score of a label comes about.
  function viterbi(one) {
    let cell = 0;
    const n = one.labels.length, total = one.words.length * n;
    const said = make("p", { "aria-live": "polite" });
    const grid = make("div", { class: "scroll", tabindex: "0" });
    const paint = () => {
      const [t, z] = [Math.floor(cell / n), cell % n];
      grid.replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, make("td", {}), one.words.map((word) => make("th", { scope: "col" }, word)))),
        make("tbody", {}, one.labels.map((label, y) => make("tr", {}, make("th", { scope: "row" }, label),
          one.words.map((_, s) => make("td", { class: `n ${s === t && y === z ? "now" : ""}` }, s * n + y <= cell ? one.table[s][y].toFixed(1) : "")))))));
      const back = one.back[t][z];
      said.textContent = t === 0
        ? `${one.words[0]}, ${one.labels[z]}: emission score ${one.own[t][z].toFixed(1)}, start transition ${one.pair[t][z].toFixed(1)}`
        : `${one.words[t]}, ${one.labels[z]}: best previous label ${one.labels[back]} (score ${one.table[t - 1][back].toFixed(1)}), transition ${one.pair[t][z].toFixed(1)}, emission score ${one.own[t][z].toFixed(1)}`;
    };
    const move = (by) => { cell = Math.max(0, Math.min(total - 1, cell + by)); paint(); };
    cells.replaceChildren(make("h2", {}, "Viterbi on this sentence, with the weights before the update"),
      make("div", { class: "row" }, make("button", { onclick: () => move(-1) }, "Previous cell"), make("button", { onclick: () => move(1) }, "Next cell"), make("button", { onclick: () => move(total) }, "All cells")),
      said, grid);
    paint();
  }

  start();
}
