// The trellis of a sentence: tokens across, labels down, node size by marginal, edge width by edge marginal, best path bold.
import { draw } from "/studio/page.js";

const ROW = 36, TOP = 52, LEAST = 0.002, CHARACTER = 8;

// found: tokens, labels, node [T][L], edges [[t, y, z, p]], best [T]; hooks: node(t, z), token(t). marks: allowed per token.
export function picture(found, { rows, forced, forbidden, other, onnode, ontoken }) {
  const shown = rows;
  const left = 24 + CHARACTER * Math.max(1, ...shown.map((z) => found.labels[z].length));
  const widths = found.tokens.map((token) => Math.max(52, CHARACTER * token.text.length + 20));
  const x = [];
  let at = left;
  for (const width of widths) { x.push(at + width / 2); at += width; }
  const y = new Map(shown.map((z, i) => [z, TOP + i * ROW]));
  const height = TOP + shown.length * ROW;
  const lines = [];
  for (const [t, a, b, p] of found.edges) {
    if (t === 0 || !y.has(a) || !y.has(b)) continue;
    if (found.best[t - 1] === a && found.best[t] === b) continue;
    lines.push(draw("line", { x1: x[t - 1], y1: y.get(a), x2: x[t], y2: y.get(b), "stroke-width": (0.4 + 5 * p).toFixed(2) }));
  }
  const path = (labels, name) => {
    for (let t = 1; t < labels.length; t++) {
      if (y.has(labels[t - 1]) && y.has(labels[t])) {
        lines.push(draw("line", { class: name, x1: x[t - 1], y1: y.get(labels[t - 1]), x2: x[t], y2: y.get(labels[t]), "stroke-width": 3 }));
      }
    }
  };
  path(found.best, "best");
  if (other) path(other, "other");
  const words = found.tokens.map((token, t) =>
    draw("g", { class: "token", role: "button", tabindex: "0", "aria-label": `why ${token.text} is ${found.labels[found.best[t]]}`,
      onclick: () => ontoken(t), onkeydown: (event) => pressed(event, () => ontoken(t)) },
      draw("text", { x: x[t], y: 22 }, token.text)));
  const names = shown.map((z) => draw("text", { class: "label", x: left - 14, y: y.get(z) + 5 }, found.labels[z]));
  const nodes = [];
  for (let t = 0; t < x.length; t++) {
    for (const z of shown) {
      const p = found.node[t][z], best = found.best[t] === z;
      const kinds = ["node"];
      if (forced.get(t) === z) kinds.push("forced");
      const banned = forbidden.has(`${t},${z}`);
      if (banned) kinds.push("forbidden");
      const said = `${found.tokens[t].text}, ${found.labels[z]}, ${p.toFixed(3)}${forced.get(t) === z ? ", forced" : ""}${banned ? ", forbidden" : ""}`;
      const size = p >= LEAST || best ? 3 + 9 * Math.sqrt(p) : 3;
      nodes.push(draw("g", { class: kinds.join(" "), role: "button", tabindex: "0", "aria-label": said, "data-token": t, "data-label": found.labels[z],
        onclick: () => onnode(t, z), onkeydown: (event) => arrows(event, t, z, shown, x.length) || pressed(event, () => onnode(t, z)) },
        draw("title", {}, said),
        draw("rect", { x: x[t] - 16, y: y.get(z) - 16, width: 32, height: 32, fill: "transparent" }),
        draw("circle", { class: best ? "best" : p >= LEAST ? "" : "faint", cx: x[t], cy: y.get(z), r: size.toFixed(1) }),
        banned ? draw("text", { class: "cross", x: x[t], y: y.get(z) + 6 }, "×") : null));
    }
  }
  return draw("svg", { class: "trellis", viewBox: `0 0 ${at + 12} ${height}`, width: at + 12, height, role: "group", "aria-label": "trellis" },
    lines, words, names, nodes);
}

function pressed(event, work) {
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); work(); return true; }
  return false;
}

// Arrow keys go from node to node.
function arrows(event, t, z, shown, n) {
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (!step) return false;
  event.preventDefault();
  const row = shown.indexOf(z) + step[1], column = t + step[0];
  const nodes = event.currentTarget.ownerSVGElement.querySelectorAll("g.node");
  if (row >= 0 && row < shown.length && column >= 0 && column < n) nodes[column * shown.length + row].focus();
  return true;
}

// The labels that are drawn: those of the best path and of what is forced or forbidden, then the most probable ones.
export function rowsOf(found, most, forced, forbidden) {
  const wanted = new Set([...found.best, ...forced.values()]);
  for (const pair of forbidden) wanted.add(Number(pair.split(",")[1]));
  const weight = found.labels.map((_, z) => Math.max(0, ...found.node.map((row) => row[z])));
  const order = found.labels.map((_, z) => z).sort((a, b) => weight[b] - weight[a]);
  for (const z of order) {
    if (wanted.size >= most || weight[z] < LEAST) break;
    wanted.add(z);
  }
  return [...wanted].sort((a, b) => a - b);
}
