// Label: suggestions filled in, keys for labels, spans drawn by mouse or keyboard, undo; training while you go on.
import { line } from "/studio/errors.js";
import { ask, colours, make, percent, problem } from "/studio/page.js";

const ENDINGS = { conll: "txt", tsv: "tsv", jsonl: "jsonl", csv: "csv", conllu: "conllu", crfsuite: "crfsuite.txt", parquet: "parquet", feather: "feather" };
const HELP = "Select words with the mouse, or with the arrow keys and Shift, then press the key of a label. 0 removes labels, Enter saves and opens the next sentence, N skips, Ctrl+Z undoes.";

// Changes are undone by the tab that made them.
function tab() {
  const name = "trellis-studio-tab";
  if (!sessionStorage.getItem(name)) sessionStorage.setItem(name, crypto.randomUUID());
  return sessionStorage.getItem(name);
}

export function label(view, state, focus) {
  if (!state.book) {
    view.append(make("p", {}, "No corpus. To label sentences, open the studio with a corpus: trellis studio CORPUS"));
    return;
  }
  let page = null, labels = [], mine = [], from = 0, to = 0, dragging = false, timer = 0, edited = false, trained = false;
  const client = tab();
  const progress = make("p", { class: "quiet", id: "progress" }), note = make("p", { id: "note", role: "status" }), words = make("div", { class: "words", role: "listbox", "aria-multiselectable": "true", "aria-label": "words", tabindex: "0", onkeydown: keyed });
  const keys = make("div", { class: "row", role: "group", "aria-label": "labels" });
  const added = make("input", { id: "added", maxlength: 60, autocomplete: "off", onkeydown: (event) => { if (event.key === "Enter") add(); } });
  const training = make("section", { "aria-live": "polite" });
  const order = make("select", { id: "order" }, make("option", { value: "uncertain" }, "least certain first"), make("option", { value: "file" }, "file order"));
  const format = make("select", { id: "format" }, Object.entries(ENDINGS).map(([name, ending]) => make("option", { value: name }, `${name} (.${ending})`)));
  const place = make("input", { id: "place", type: "number", min: 1 });
  view.append(
    progress, make("p", { class: "quiet" }, HELP), words, note, keys,
    make("div", { class: "row" }, make("label", { for: "added" }, "New label"), added, make("button", { onclick: add }, "Add")),
    make("div", { class: "row" },
      make("button", { class: "main", onclick: save }, "Save and next"), make("button", { onclick: () => next() }, "Skip"),
      make("button", { onclick: undo }, "Undo"),
      make("label", { for: "order" }, "Order"), order,
      make("label", { for: "place" }, "Sentence"), place, make("button", { onclick: () => go(Number(place.value) - 1) }, "Go")),
    make("div", { class: "row" },
      make("button", { onclick: train }, "Train"),
      make("label", { for: "format" }, "Export as"), format, make("button", { onclick: out }, "Export")),
    training);
  async function out() {
    await kept;
    const answer = await fetch(`/studio/api/label/export?format=${format.value}`);
    if (!answer.ok) { problem((await answer.json()).error); return; }
    const place = URL.createObjectURL(await answer.blob());
    make("a", { href: place, download: `labelled.${ENDINGS[format.value]}` }).click();
    URL.revokeObjectURL(place);
  }

  const own = new Set();
  let kept = Promise.resolve();

  // Types of spans where labels mark spans, else the labels themselves; the first nine have keys.
  function choices() {
    const known = [...new Set([...(page ? page.state.labels : []), ...own])].filter((name) => name !== "O");
    const spans = known.length > 0 && known.every((name) => /^[BIES]-/.test(name));
    const names = spans ? [...new Set(known.map((name) => name.slice(2)))].sort() : known.sort();
    return { spans: spans || [...own].some((name) => /^[BIES]-/.test(name)), names };
  }

  function show() {
    const s = page.state;
    progress.textContent = `${s.labelled} of ${s.sentences} sentences labelled (${s.target})${page.number === null ? "; all sentences are labelled" : `; sentence ${page.number + 1}`}`;
    const { names } = choices();
    const colour = colours(names);
    const name = (one) => (one && /^[BIES]-/.test(one) ? one.slice(2) : one);
    words.replaceChildren(...(page.words || []).map((word, t) => {
      const one = labels[t], chosen = t >= Math.min(from, to) && t <= Math.max(from, to);
      const sure = mine[t] === one && one !== null;
      return make("span", { class: `word ${colour.get(name(one)) || ""} ${chosen ? "chosen" : ""} ${one && !sure ? "guess" : ""}`, role: "option", "aria-selected": chosen, "data-place": t,
        "aria-label": `${word}, ${one || "no label"}`,
        onpointerdown: (event) => { event.preventDefault(); words.focus(); from = to = t; dragging = true; show(); },
        onpointerenter: () => { if (dragging && to !== t) { to = t; show(); } } },
        word, make("small", {}, one || "·"));
    }));
    keys.replaceChildren(...names.map((one, i) => make("button", { class: colour.get(one), "data-key": i < 9 ? i + 1 : "", onclick: () => put(one) }, i < 9 ? `${i + 1} ${one}` : one)),
      make("button", { onclick: () => put(null) }, "0 no label"));
    if (!choices().spans) return;
    keys.append(make("span", { class: "quiet" }, "(span types)"));
  }

  function put(one) {
    if (!page || !page.words) return;
    const [a, b] = [Math.min(from, to), Math.max(from, to)];
    const { spans } = choices();
    edited = true;
    for (let t = a; t <= b; t++) mine[t] = labels[t] = one === null ? (spans ? "O" : null) : spans ? `${t === a ? "B" : "I"}-${one}` : one;
    if (spans && labels[b + 1] && labels[b + 1].startsWith("I-")) mine[b + 1] = labels[b + 1] = `B${labels[b + 1].slice(1)}`;
    change(mine);  // every key, at once
    if (a === b && b + 1 < labels.length && !spans) from = to = b + 1;
    show();
  }

  // In order, each to the revision that the change before it made.
  function change(some) {
    const sentence = page, body = { number: page.number, labels: [...some], client };
    kept = kept.then(async () => {
      if (sentence.stale) return null;
      const found = await ask("/studio/api/label/set", { ...body, revision: sentence.revision }, () => {
        sentence.stale = true;
        return reopen(body.number);
      });
      if (found) sentence.revision = found.revision;
      return found;
    });
    return kept;
  }

  function add() {
    const one = added.value.trim();
    if (one) { own.add(one); added.value = ""; show(); words.focus(); }
  }

  function keyed(event) {
    const n = page && page.words ? page.words.length : 0;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step && n) { to = Math.max(0, Math.min(n - 1, to + step)); if (!event.shiftKey) from = to; event.preventDefault(); show(); }
    else if (event.key === "Enter") { event.preventDefault(); save(); }
    else if (event.key === "n") next();
    else if (event.key === "z" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); undo(); }
    else if (event.key === "0") put(null);
    else if (/^[1-9]$/.test(event.key)) { const { names } = choices(); if (names[event.key - 1]) put(names[event.key - 1]); }
  }

  function open(found) {
    if (!found) return;
    page = found;
    mine = found.number === null ? [] : [...found.labels];  // what a person said; suggestions are not
    labels = mine.map((one, t) => one ?? (found.suggested[t] ?? null));
    from = to = 0;
    edited = false;
    note.textContent = [...found.state.warnings, found.note].filter(Boolean).join(" ");
    show();
    watch(found.state.training);
  }

  const reopen = async (number) => open(await ask("/studio/api/label/next", { number }));
  async function next() {
    await kept;
    open(await ask("/studio/api/label/next", { after: page ? page.number : null, uncertain: order.value === "uncertain" }));
  }
  async function go(number) {
    await kept;
    await reopen(number);
  }
  async function undo() {
    await kept;
    const found = await ask("/studio/api/label/undo", { client });
    if (found && found.number === null) problem("Nothing to undo: this tab has made no changes.");
    else open(found);
  }

  // Where labels mark spans, what has no label is outside of them.
  async function save() {
    if (!page || page.number === null) return;
    const { number } = page, all = choices().spans ? labels.map((one) => one ?? "O") : labels;
    const missing = all.filter((one) => one === null).length;
    if (!(await change(all))) return;
    await next();
    words.focus();
    if (missing) note.textContent = `Sentence ${number + 1} is saved, but not counted as labelled: ${missing} of its ${all.length} words have no label. ` +
      "To label spans, add a label such as B-PER; words outside spans then get O.";
  }

  async function train() {
    words.focus();
    await kept;
    const found = await ask("/studio/api/label/train", {});
    if (found) watch(found.training);
  }

  function watch(now) {
    clearTimeout(timer);
    const scores = now.history.filter((one) => "dev_score" in one);
    training.replaceChildren(...(now.running || now.history.length || now.error ? [
      make("h2", {}, now.running ? `Training: epoch ${now.epoch} of at most ${now.epochs}` : now.error ? "Training failed" : "Training finished"),
      now.running ? make("progress", { max: now.epochs, value: now.epoch, "aria-label": "training" }) : "",
      now.error ? make("p", { class: "wrong" }, now.error) : "",
      scores.length ? make("figure", {}, make("figcaption", {}, `score on ${now.held_out} held-out sentences by epoch, best ${percent(Math.max(...scores.map((one) => one.dev_score)))}%`),
        scores.length > 1 ? line(scores.map((one) => [one.epoch, 100 * one.dev_score])) : "") : "",
    ] : []));
    if (trained && !now.running && !now.error && !edited && page && page.number !== null) { trained = false; go(page.number); }
    trained = now.running;
    if (now.running) timer = setTimeout(async () => { const found = await ask("/studio/api/label/state"); if (found && view.contains(training)) watch(found.training); }, 300);
  }

  window.addEventListener("pointerup", () => { dragging = false; });
  next().then(() => { if (focus) words.focus({ preventScroll: true }); });
}
