// The studio's page: its views, one at a time, reached by tabs and by the part of the address after #.
import { ask, make, problem } from "/studio/page.js";
import { look } from "/studio/look.js";
import { compare } from "/studio/compare.js";
import { errors } from "/studio/errors.js";
import { label } from "/studio/label.js";
import { learn } from "/studio/learn.js";

const VIEWS = { look: ["Look", look], compare: ["Compare", compare], errors: ["Errors", errors], label: ["Label", label], learn: ["Learn", learn] };

const state = await ask("/studio/api/state");
const tabs = document.getElementById("tabs");
const view = document.getElementById("view");

async function show(name, focus) {
  const [title, open] = VIEWS[name] || VIEWS.look;
  document.title = `${title} – trellis studio`;
  for (const button of tabs.querySelectorAll("button")) {
    const chosen = button.dataset.view === name;
    button.setAttribute("aria-selected", chosen);
    button.tabIndex = chosen ? 0 : -1;
    if (chosen && focus) button.focus();
  }
  view.setAttribute("aria-labelledby", `tab-${name}`);
  problem("");
  Object.assign(state, (await ask("/studio/api/state")) || {});
  view.replaceChildren();
  open(view, state, !focus);
}

function go(name, focus = false) {
  if (location.hash !== `#${name}`) history.replaceState(null, "", `#${name}`);
  show(name, focus);
}

if (state) {
  const names = Object.keys(VIEWS);
  tabs.append(...names.map((name, i) => make("li", { role: "presentation" },
    make("button", { id: `tab-${name}`, role: "tab", "aria-controls": "view", "data-view": name,
      onclick: () => go(name),
      onkeydown: (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step) { event.preventDefault(); go(names[(i + step + names.length) % names.length], true); }
      } }, VIEWS[name][0]))));
  view.setAttribute("role", "tabpanel");
  window.addEventListener("hashchange", () => show(location.hash.slice(1) in VIEWS ? location.hash.slice(1) : "look"));
  go(location.hash.slice(1) in VIEWS ? location.hash.slice(1) : "look");
}
