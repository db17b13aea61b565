// The OpenAPI document as a page: every operation, its parameters, examples and answers.
import { h } from "./drawing.js";

const described = await (await fetch("openapi.json", { credentials: "omit" })).json();
const main = document.getElementById("main");

const json = (value) => h("pre", { tabindex: "0" }, h("code", {}, JSON.stringify(value, null, 2)));

function resolved(schema) {
  const name = schema?.$ref?.split("/").pop();
  return name ? { name, ...described.components.schemas[name] } : schema;
}

function parameters(list = []) {
  if (!list.length) return [];
  const rows = list.map((p) =>
    h("tr", {}, h("th", { scope: "row" }, p.name), h("td", {}, p.in), h("td", {}, p.description ?? "")),
  );
  const head = h("tr", {}, ...["parameter", "where", "what"].map((t) => h("th", { scope: "col" }, t)));
  return [h("div", { class: "scroll" }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)))];
}

function body(content = {}) {
  return Object.values(content).flatMap((media) => {
    const schema = resolved(media.schema);
    const examples = Object.entries(media.examples ?? {});
    return [
      ...examples.flatMap(([name, example]) => [h("p", { class: "small" }, `Example: ${name}`), json(example.value)]),
      h("details", {}, h("summary", {}, `Schema${schema?.name ? `: ${schema.name}` : ""}`), json(schema ?? {})),
    ];
  });
}

function operation(path, method, o) {
  const open = o.security?.length === 0;
  return h("section", { id: o.operationId },
    h("h2", {}, o.summary),
    h("p", { class: "call" }, h("code", {}, `${method.toUpperCase()} ${path}`), open ? " without a key" : " with a key"),
    ...(o.description ? [h("p", {}, o.description)] : []),
    ...parameters(o.parameters),
    ...(o.requestBody ? [h("h3", {}, "Body"), ...body(o.requestBody.content)] : []),
    h("h3", {}, "Answers"),
    ...Object.entries(o.responses).map(([status, answer]) =>
      h("details", {}, h("summary", {}, status), h("p", {}, answer.description), ...body(answer.content)),
    ),
  );
}

const operations = Object.entries(described.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, o]) => [path, method, o]),
);
main.append(
  h("p", {}, described.info.description),
  h("nav", { class: "toc", "aria-label": "Operations" },
    h("ol", {}, ...operations.map(([, , o]) => h("li", {}, h("a", { href: `#${o.operationId}` }, o.summary)))),
  ),
  ...operations.map((given) => operation(...given)),
);
document.body.dataset.ready = "yes";
