// What all views share: elements made without HTML text, questions to the server, problems shown in one line.

const SVG = "http://www.w3.org/2000/svg";

// An element with attributes and children; text stays text, whatever it holds.
export function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

export function problem(why) {
  const place = document.getElementById("problem");
  place.textContent = why;
  place.hidden = !why;
}

// The server's answer as JSON; a problem is shown, and null given. What was changed elsewhere is first shown by conflict().
export async function ask(path, body, conflict) {
  try {
    const how = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await fetch(path, how);
    const found = await answer.json();
    if (answer.status === 409 && conflict) await conflict();
    if (!answer.ok) throw new Error(found.error || answer.statusText);
    if (body !== undefined) problem("");  // not for a look at the state, which would hide it at once
    return found;
  } catch (error) {
    problem(String(error.message || error));
    return null;
  }
}

// The newest call alone counts: answers to older ones are dropped.
export function newest(work) {
  let number = 0;
  return async (...given) => {
    const mine = ++number;
    const found = await work(...given);
    return mine === number ? found : null;
  };
}

export function later(work, milliseconds) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
}

export function percent(share) {
  return share === null || share === undefined ? "" : (100 * share).toFixed(2);
}

// A colour's class for every type, the same for the same types.
export function colours(types) {
  const names = [...new Set(types)].sort();
  return new Map(names.map((name, i) => [name, `c${i % 10}`]));
}

export function table(head, rows) {
  const cell = (value, name) =>
    make(name, typeof value === "number" || (typeof value === "string" && /^[\d.,%+-]+$/.test(value)) ? { class: "n" } : {}, value instanceof Node ? value : String(value));
  return make("div", { class: "scroll", tabindex: "0" },
    make("table", {},
      make("thead", {}, make("tr", {}, head.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map((value) => cell(value, "td")))))));
}

// Views of labelled corpora are for taggers.
export function taggers(state) {
  return state.models.filter((one) => one.task === "tag");
}

export function chooseModel(models, name, onchange, title = "Model") {
  const id = `model-${title.replace(/\W/g, "")}`;
  const select = make("select", { id, onchange: () => onchange(select.value) },
    models.map((one) => make("option", { value: one.name, selected: one.name === name }, `${one.name}: ${one.target || one.task}`)));
  return [make("label", { for: id }, title), select];
}
