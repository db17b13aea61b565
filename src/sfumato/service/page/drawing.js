// A score and its explanation as SVG, with the same numbers in a table for who does not see it.
const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const percent = (p) => `${(100 * p).toFixed(p < 0.1 ? 1 : 0)}%`;
const signed = (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}`;

export function drawn(answer) {
  const unsure = answer.risk_score === null;
  const parts = [
    h("p", { class: "score" }, h("strong", { id: "risk" }, unsure ? "not sure enough to say" : percent(answer.risk_score)), ` probability of ${answer.target}`),
    ...(unsure ? [] : [meter(answer.risk_score)]),
    h("p", { class: "small" }, `${answer.guarantee}; version ${answer.version}`),
  ];
  if (answer.interval) {
    parts.push(h("p", { id: "interval" }, `Without the noise it would have been between ${answer.interval.map(percent).join(" and ")}.`));
  }
  if (answer.note) parts.push(h("p", { class: "warn" }, answer.note));
  if (answer.clamped.length) {
    parts.push(h("p", { class: "warn" }, `Taken at the edge of the public range: ${answer.clamped.join(", ")}.`));
  }
  if (answer.explanation) parts.push(...explained(answer.explanation));
  return parts;
}

function meter(p) {
  const at = 4 + 392 * p;
  return s("svg", { class: "meter", viewBox: "0 0 400 20", role: "img", "aria-label": percent(p) },
    s("line", { class: "track", x1: 4, y1: 10, x2: 396, y2: 10 }),
    s("line", { class: "span", x1: 4, y1: 10, x2: at, y2: 10 }),
    s("circle", { class: "dot", cx: at, cy: 10, r: 7 }),
  );
}

function explained({ base, contributions }) {
  const rows = [...contributions].sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
  const most = Math.max(0.1, ...rows.map((r) => Math.abs(r.contribution)));
  // On a narrow screen the names stand above their bars, so that nothing has to be scrolled.
  const narrow = matchMedia("(max-width:40rem)").matches;
  const step = narrow ? 46 : 28, left = narrow ? 50 : 190, half = narrow ? 105 : 170, down = narrow ? 20 : 0;
  const zero = left + half;
  const bars = rows.map((r, i) => {
    const size = (half * Math.abs(r.contribution)) / most;
    const up = r.contribution >= 0;
    const y = 6 + i * step + down;
    const place = narrow ? { x: 0, y: y - 6 } : { x: left - 12, y: y + 14, "text-anchor": "end" };
    return s("g", {},
      s("text", { class: "name", ...place }, r.feature.replaceAll("_", " ")),
      s("rect", { class: up ? "raises" : "lowers", x: up ? zero : zero - size, y, width: Math.max(size, 1), height: 18, rx: 3 }),
      s("text", { class: "amount", x: up ? zero + size + 6 : zero - size - 6, y: y + 14, "text-anchor": up ? "start" : "end" }, signed(r.contribution)),
    );
  });
  const height = rows.length * step + 12;
  const picture = s("svg", { class: "why", viewBox: `0 0 ${zero + half + (narrow ? 50 : 60)} ${height}`, role: "img", "aria-labelledby": "why-title" },
    s("line", { class: "axis", x1: zero, y1: 0, x2: zero, y2: height }),
    ...bars,
  );
  const table = h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "feature"), h("th", { scope: "col", class: "n" }, "log-odds"))),
    h("tbody", {},
      ...[{ feature: "start (everybody)", contribution: base }, ...rows].map((r) =>
        h("tr", {}, h("th", { scope: "row" }, r.feature), h("td", { class: "n" }, signed(r.contribution))),
      ),
    ),
  );
  return [
    h("h3", { id: "why-title" }, "What each feature adds"),
    h("ul", { class: "key" },
      h("li", {}, s("svg", { viewBox: "0 0 12 12" }, s("rect", { class: "raises", width: 12, height: 12, rx: 2 })), "raises the score"),
      h("li", {}, s("svg", { viewBox: "0 0 12 12" }, s("rect", { class: "lowers", width: 12, height: 12, rx: 2 })), "lowers it"),
      h("li", {}, `in log-odds, from a start of ${signed(base)}`),
    ),
    h("div", { class: "scroll" }, picture),
    h("details", {}, h("summary", {}, "As a table"), table),
  ];
}
