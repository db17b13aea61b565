// Sign in, choose a model, try a score. Text is only ever set as text, never as markup.
// Addresses are relative, so that the page works under any prefix a proxy gives it.
import { h, drawn } from "./drawing.js";

const $ = (id) => document.getElementById(id);
let key = "";
let model = null;

async function ask(path, body) {
  const answer = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      Authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    cache: "no-store",
    credentials: "omit",
  });
  const content = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(content.error.message), { faults: content.error.faults ?? [] });
  return content;
}

function trouble(text) {
  $("trouble").textContent = text;
  $("trouble").hidden = !text;
}

async function guarded(work) {
  trouble("");
  try {
    await work();
  } catch (error) {
    marked(error.faults ?? []);
    trouble(error.message);
  }
}

// -- models ---------------------------------------------------------------------------------------------

async function signIn() {
  key = $("key").value.trim();
  const { models } = await ask("v1/models");
  $("key").value = "";
  $("sign-in").hidden = true;
  $("house").hidden = false;
  $("models").replaceChildren(
    ...models.map((m) =>
      h("li", {}, h("button", { type: "button", class: "chip", "data-model": m.name }, m.name)),
    ),
  );
  for (const chip of document.querySelectorAll(".chip")) {
    chip.addEventListener("click", () => guarded(() => show(chip.dataset.model)));
  }
  if (models.length) await show(models[0].name);
  else trouble("This key may ask no model.");
}

async function show(name) {
  model = await ask(`v1/models/${encodeURIComponent(name)}`);
  for (const chip of document.querySelectorAll(".chip")) {
    chip.setAttribute("aria-pressed", String(chip.dataset.model === name));
  }
  $("model-title").textContent = model.name;
  $("model-stamp").textContent =
    `${model.kind}; the probability of ${model.target}; version ${model.version}` +
    (model.versions.length > 1 ? `, one of ${model.versions.length}` : "");
  $("promises").replaceChildren(...(model.noisy ? [h("p", { class: "warn" }, model.note)] : []), ...promises());
  $("fields").replaceChildren(...model.features.map(field));
  $("try-hint").textContent = model.noisy
    ? `Each new question costs an epsilon of ${model.claimed_epsilon}; the same question again costs nothing.`
    : "Scores cost nothing: privacy was paid for once, when the model was fitted. The fields start in the middle of their ranges.";
  $("result").hidden = true;
  await drift();
  await budget();
}

async function drift() {
  $("drift").hidden = !model.drift;
  if (!model.drift) return;
  const told = await ask(`v1/models/${encodeURIComponent(model.name)}/drift`);
  const word = (x) => (x.changed === null ? "too few" : x.changed ? "changed" : "not seen");
  const rows = told.periods.flatMap((p) =>
    Object.entries(p.baseline ? { all: null } : p.features).map(([name, x]) =>
      h("tr", {},
        h("th", { scope: "row" }, p.start),
        h("td", { class: "n" }, `about ${p.requests}`),
        h("td", {}, name),
        h("td", { class: "n" }, x ? x.distance.toFixed(2) : ""),
        h("td", {}, x ? word(x) : "baseline"),
      ),
    ),
  );
  const head = h("tr", {}, ...["period from", "requests", "feature", "distance", "change"].map((t) => h("th", { scope: "col" }, t)));
  $("periods").replaceChildren(
    rows.length ? h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)) : h("p", {}, "No period has ended yet."),
    h("p", { class: "small" }, `Epsilon ${told.epsilon_per_period} each period; ${told.epsilon_left} left.`),
  );
}

function promises() {
  return model.guarantee.map((c) =>
    h("div", { class: "claim" },
      h("h3", {}, c.title[0].toUpperCase() + c.title.slice(1)),
      h("p", {}, c.promise),
      h("p", { class: "limits" }, c.limits),
      ...(c.assumptions.length
        ? [h("details", {}, h("summary", {}, "What this rests on"), h("ul", {}, ...c.assumptions.map((a) => h("li", {}, a))))]
        : []),
    ),
  );
}

async function budget() {
  const b = await ask("v1/budget");
  $("budget").textContent =
    b.kind === null
      ? "Remaining budget: none is needed, as nothing here is spent by asking."
      : `Remaining budget of ${b.client}: ${b.kind} ${b.left_of_client}` +
        (b.left === null ? "." : `; of the data set: ${b.left}.`);
}

// -- the form -------------------------------------------------------------------------------------------

function field(f, i) {
  const id = `field-${i}`;
  const named = h("label", { for: id }, f.name.replaceAll("_", " "), ...(f.unit ? [h("span", { class: "unit" }, ` ${f.unit}`)] : []));
  const said = h("span", { class: "fault", id: `${id}-fault` });
  return h("div", { class: "field", title: f.label ?? "" }, named, input(f, id), said);
}

// Levels that were read off the data are known to nobody; yes and no are.
const untold = (f) => f.kind !== "number" && !f.levels && f.level_type !== "boolean";
const levels = (f) => f.levels ?? [false, true];

function value(f, text) {
  if (f.kind === "number" || (untold(f) && f.level_type === "number")) return Number(text);
  return untold(f) ? text : levels(f)[Number(text)];
}

function input(f, id) {
  const shared = { id, name: f.name, "aria-describedby": `${id}-fault` };
  if (untold(f)) {
    const typed = f.level_type === "number" ? { type: "number", step: "any" } : { type: "text", autocomplete: "off" };
    return h("input", { ...shared, ...typed, placeholder: "levels are not told" });
  }
  if (f.kind !== "number") {
    return h("select", shared,
      ...(f.missing_allowed ? [h("option", { value: "" }, "not known")] : []),
      ...levels(f).map((v, k) => h("option", { value: String(k) }, v === true ? "yes" : v === false ? "no" : String(v))),
    );
  }
  const middle = f.low !== undefined && f.high !== undefined ? (f.low + f.high) / 2 : "";
  const bounds = middle === "" ? {} : { placeholder: `${f.low} to ${f.high}` };
  return h("input", { ...shared, type: "number", step: "any", inputmode: "decimal", ...bounds, value: f.missing_allowed ? "" : String(middle) });
}

function row() {
  const out = {};
  model.features.forEach((f, i) => {
    const text = $(`field-${i}`).value;
    if (text !== "") out[f.name] = value(f, text);
  });
  return out;
}

function marked(faults) {
  model?.features.forEach((f, i) => {
    const found = faults.find((x) => x.field === f.name);
    const said = $(`field-${i}-fault`);
    if (said) said.textContent = found ? found.rule : "";
    $(`field-${i}`)?.setAttribute("aria-invalid", String(Boolean(found)));
  });
}

async function score() {
  marked([]);
  const query = model.noisy ? "" : "?explain=true";
  const answer = await ask(`v1/models/${encodeURIComponent(model.name)}/score${query}`, row());
  $("answer").replaceChildren(...drawn(answer));
  $("result").hidden = false;
  $("result").scrollIntoView({ block: "nearest" });
  if (model.noisy) await budget();
}

$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  guarded(signIn);
});
$("row-form").addEventListener("submit", (event) => {
  event.preventDefault();
  guarded(score);
});
