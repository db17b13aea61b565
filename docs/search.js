// Finds sections by their words: rare words, and words of a heading, count most (BM25 over three fields).
// Runs from a folder as over HTTP: no worker, nothing is fetched. search_index.py writes what it looks through.
"use strict";

const siteSearch = (function () {
  // Words of a question that say nothing of what is looked for.
  const EMPTY = new Set(("a all am an and any are as at be been but by can cannot could did do does doing done for from had has have " +
    "how i if in into is isn it its just made make may me much my no not now of on one or our please really say says should so some " +
    "somebody someone something than that the their them then there these they thing things this those to too try tried us use used " +
    "using very want was way we were what about get gets got like need tell when where which while who whom whose why will with work " +
    "works would you your out up off over happen happens happened often anybody anyone everybody everyone nobody i'm look else even still appear appears program like").split(" "));
  // Turns of speech whose single words lead elsewhere.
  const TURNS = [
    [/\b(figure|find|work) out\b/gi, "learn"], [/\bget(ting)? rid of\b/gi, "remove"], [/\bwho (is|was|are|were) in\b/gi, "membership"],
    [/\bsign(s|ed)?[- ]off\b/gi, "determination"], [/\be?-?mailed (me|us)\b/gi, "sent"], [/\bstrip(ping|ped)? (out|off)\b/gi, "remove"],
  ];
  // Words people type, and words of these pages; the glossary adds what others call its words (searchSynonyms).
  const ALSO = {
    accuracy: "utility", accurate: "utility", address: "identifier", aggregate: "table", anonymise: "anonymize", api: "serve", attacker: "intruder",
    attribute: "column", authority: "officer", big: "larger large", billion: "larger", birthday: "birth", blur: "generalize", bucket: "interval",
    budget: "ledger", change: "correct", chart: "figure", check: "verify", classifier: "score model", cloud: "s3", cluster: "spark", cohort: "table",
    colleague: "recipient", comment: "text free", compare: "frontier beside", computer: "machine", consent: "withdraw", continue: "resume killed", contract: "agreement",
    correct: "review", cost: "spent budget", crash: "killed", csv: "file", curve: "figure", dataset: "table", date: "day shift",
    deidentification: "anonymize pseudonyms", deidentify: "anonymize pseudonyms", delete: "remove drop withdraw", deutsch: "language",
    diagram: "figure", district: "region area", disappear: "dropped left", docker: "container", download: "network", dp: "epsilon differential", email: "identifier",
    encrypt: "secret key pseudonyms", erase: "remove drop withdraw", error: "refused exit", evaluate: "assess", evidence: "determination",
    excel: "xlsx", explain: "contributions", extreme: "rare", fail: "exit code", fake: "invented synthetic", fast: "time seconds", field: "column",
    french: "language", gdpr: "officer determination", generate: "synthesize draw", german: "language", gone: "dropped missing", good: "quality useful", gpu: "machine",
    graph: "figure map", guess: "guesses", hash: "pseudonyms keyed", hide: "withhold suppress", hipaa: "officer determination", icd: "codes",
    identified: "linking", individual: "person", install: "pip", internet: "network", interrupt: "killed", json: "fhir", keep: "kept",
    kubernetes: "container", laptop: "machine", law: "officer legal", lawyer: "officer", leak: "attack risk safe", legal: "officer", last: "earlier", login: "key",
    long: "time seconds", lost: "backup", manipulate: "altered forged", maximum: "large larger", mask: "pseudonyms generalize", measure: "assess", metric: "measure",
    million: "larger", mistake: "correct", name: "identifier", observation: "row", offline: "network internet", old: "age", outlier: "rare extreme", own: "guest",
    parallel: "workers", partner: "recipient", password: "key", patient: "person", people: "person", per: "each", permission: "access key",
    phone: "identifier", plot: "figure", plugin: "guest", postal: "zip", postcode: "zip", predict: "score", proof: "guarantee", quality: "utility",
    random: "seed", redact: "drop suppress", regulator: "officer", reidentified: "linking", reidentify: "linking", remove: "drop",
    reproduce: "seed same", reproducible: "seed same", respondent: "person", resume: "killed", risk: "attack", safe: "risk verdict",
    salary: "income sensitive", sdc: "disclosure", secure: "safe attack", several: "many", share: "publish release", slow: "time seconds",
    small: "minimum", spreadsheet: "xlsx", sql: "database", statistics: "utility", subject: "person", surname: "identifier name", swap: "exchange",
    tamper: "altered forged signed", tampered: "altered forged signed", thousand: "larger", translate: "language", twice: "two again", two: "several",
    uninstall: "clean", unusual: "rare", upload: "network", useful: "utility", user: "access key", vanish: "dropped", variable: "column",
    visit: "stay", wrong: "correct", yaml: "toml",
  };
  const DEFINED = new Set(["mean", "means", "meaning", "definition", "define"]); // asks for a word of the glossary
  const MEANT = 0.35; // of a word that was only meant
  const ALIKE = 0.5; // of a word that begins alike
  const TYPO = 0.9; // of a word that is not there, but for one letter
  // How much a word counts in a heading, in the page's title and in the text, and how much the length of each matters.
  const FIELDS = [{ of: "title", weight: 5, length: 0.4 }, { of: "page", weight: 2, length: 0.4 },
    { of: "marked", weight: 1.5, length: 0.4 },
    { of: "words", weight: 2.5, length: 0.3 }, { of: "text", weight: 1, length: 0.7 }];
  const TEXT = FIELDS.findIndex((field) => field.of === "text");
  const FOR_BUILDERS = /^(decisions\/|reference\/|papers|gallery|names|development|releasing|licences|methods)/;

  // A light stem: dates and date, synthesized and synthesize, identifiers and identified.
  function stem(word) {
    if (word.length > 4 && /(ies|ied)$/.test(word)) return word.slice(0, -3) + "y";
    for (const end of ["izations", "ization", "ations", "ation", "ings", "ing", "ized", "izes", "izing", "ize", "ers", "ed", "es", "s", "e"]) {
      if (word.length - end.length >= 3 && word.endsWith(end) && !word.endsWith("ss")) return word.slice(0, -end.length);
    }
    return word;
  }

  // The words of a text; of plan.toml, k-anonymity and KAnonymity the parts as well.
  function words(text) {
    const parted = text.normalize("NFKC").replace(/(\p{L})(\p{Lu}\p{Ll})/gu, "$1-$2").replace(/(\p{Ll})(\p{Lu})/gu, "$1-$2");
    const found = parted.toLowerCase().match(/[\p{L}\p{N}]+(?:[._-][\p{L}\p{N}]+)*/gu) || [];
    return found.flatMap((w) => { const parts = w.split(/[._-]/); return parts.length > 1 ? [w, ...parts] : [w]; });
  }

  function prepared(sections, synonyms) {
    const inHow = new Map(), mean = FIELDS.map(() => 0);
    const documents = sections.map((section) => {
      const fields = FIELDS.map((field, i) => {
        const bag = new Map(), list = words(section[field.of]).map(stem);
        list.forEach((w) => bag.set(w, (bag.get(w) || 0) + 1));
        mean[i] += list.length;
        return { bag: bag, list: list };
      });
      new Set(fields.flatMap((f) => f.list)).forEach((w) => inHow.set(w, (inHow.get(w) || 0) + 1));
      return { section: section, fields: fields };
    });
    const also = new Map(Object.entries(ALSO).map(([word, others]) => [stem(word), others.split(" ").map(stem)]));
    Object.entries(synonyms || {}).forEach(([word, others]) => {
      const key = stem(word.toLowerCase());
      also.set(key, (also.get(key) || []).concat(others.flatMap(words).map(stem)));
    });
    return { documents: documents, inHow: inHow, mean: mean.map((n) => n / Math.max(1, documents.length)), also: also };
  }

  const once = (a, b) => { // one letter more, less or other, or two that changed places
    if (Math.abs(a.length - b.length) > 1) return false;
    let i = 0;
    while (i < a.length && a[i] === b[i]) i++;
    const x = a.slice(i), y = b.slice(i);
    return x.slice(1) === y.slice(1) || x.slice(1) === y || x === y.slice(1) || (x[0] === y[1] && x[1] === y[0] && x.slice(2) === y.slice(2));
  };

  // What is looked for: groups of words, of which the best one counts; and the words in their order.
  function asked(index, query) {
    const all = words(TURNS.reduce((text, [turn, word]) => text.replace(turn, word), query)), told = all.filter((w) => !EMPTY.has(w) && !DEFINED.has(w));
    const defined = all.some((w) => DEFINED.has(w)) || /^what (is|are) (an? |the )?[\p{L}\p{N}.-]+\??$/iu.test(query.trim());
    const order = (told.length ? told : all).map(stem);
    const groups = new Map();
    order.forEach((w) => {
      if (groups.has(w)) return;
      const group = new Map([[w, 1]]), put = (other, weight) => { if (!group.has(other)) group.set(other, weight); };
      (index.also.get(w) || []).forEach((other) => put(other, MEANT));
      if (w.length >= 5) {
        const head = w.slice(0, Math.max(5, w.length - 2));
        index.inHow.forEach((_, v) => { if (v.startsWith(head) && !/[._-]/.test(v)) put(v, ALIKE); });
        if (!index.inHow.has(w) && group.size === 1) index.inHow.forEach((_, v) => { if (v.length >= 4 && once(w, v)) put(v, TYPO); });
      }
      groups.set(w, group);
    });
    return { groups: groups, order: order, defined: defined };
  }

  const rare = (index, w) => { const n = index.inHow.get(w) || 0; return Math.log(1 + (index.documents.length - n + 0.5) / (n + 0.5)); };

  // How well a section answers: every word as rare as it is, together by how much of the question is met.
  function scored(index, d, wanted) {
    let score = 0, met = 0, sum = 0;
    wanted.groups.forEach((group, word) => {
      let best = 0, weightOfBest = 0;
      const known = index.inHow.has(word) ? rare(index, word) : 0;
      let most = known;
      group.forEach((weight, w) => {
        if (!index.inHow.has(w)) return;
        const worth = weight * (known ? Math.min(known, rare(index, w)) : rare(index, w));
        most = Math.max(most, worth);
        let times = 0;
        d.fields.forEach((field, i) => {
          const n = field.bag.get(w);
          if (n) times += FIELDS[i].weight * n / (1 - FIELDS[i].length + FIELDS[i].length * field.list.length / index.mean[i]);
        });
        const value = worth * times / (1.5 + times);
        if (value > best) { best = value; weightOfBest = weight; }
      });
      score += best;
      sum += most;
      met += most * weightOfBest;
    });
    if (!score) return 0;
    for (let i = 0; i + 1 < wanted.order.length; i++) { // words that stand together in the question, and here
      const a = wanted.order[i], b = wanted.order[i + 1], pair = Math.min(rare(index, a), rare(index, b));
      const beside = (list) => list.some((w, k) => w === a && (list[k + 1] === b || list[k + 2] === b));
      if (beside(d.fields[0].list)) score += 0.6 * pair;
      else if (beside(d.fields[TEXT].list)) score += 0.25 * pair;
    }
    score *= 0.3 + met / sum; // who has all of the words before who has one often
    const title = d.fields[0].list.filter((w) => w.length > 1);
    if (title.length && title.every((w) => wanted.order.includes(w))) { // it is about just that
      score *= wanted.defined && d.section.place.startsWith("glossary") ? 1.8 : 1.25;
    }
    if (d.section.place.startsWith("questions")) score *= 1.15; // written for who is new
    if (FOR_BUILDERS.test(d.section.place)) score *= 0.6;
    return score;
  }

  // The best section of each page, best page first; a page that has more on it comes a little before one that mentions it once.
  function find(index, query, most) {
    const wanted = asked(index, query), pages = new Map();
    index.documents.forEach((d) => {
      const score = scored(index, d, wanted);
      if (!score) return;
      const page = d.section.place.split("#")[0], before = pages.get(page);
      if (!before) pages.set(page, { score: score, sum: score, section: d.section });
      else {
        before.sum += score;
        if (score > before.score) { before.score = score; before.section = d.section; }
      }
    });
    const value = (hit) => hit.score * (1 + 0.06 * Math.log(hit.sum / hit.score));
    return Array.from(pages.values()).sort((a, b) => value(b) - value(a)).slice(0, most || 20);
  }

  function snippet(index, text, query) {
    const wanted = asked(index, query).groups, seen = /[\p{L}\p{N}]+/gu;
    let at = -1, m;
    while (at < 0 && (m = seen.exec(text))) if (wanted.has(stem(m[0].toLowerCase()))) at = m.index;
    const from = Math.max(0, text.lastIndexOf(" ", Math.max(0, at - 60)) + 1);
    let end = text.lastIndexOf(" ", from + 220);
    if (text.length <= from + 220 || end <= from) end = text.length;
    return (from ? "… " : "") + text.slice(from, end).trim() + (end < text.length ? " …" : "");
  }

  function show(place, index, query) {
    place.textContent = "";
    const hits = find(index, query);
    const count = document.createElement("p");
    count.textContent = hits.length ? (hits.length === 1 ? "1 page" : hits.length + (hits.length === 20 ? " or more" : "") + " pages") :
      "Nothing was found. Fewer or other words may help; the glossary has the words of these pages.";
    place.appendChild(count);
    const list = document.createElement("ol");
    hits.forEach((hit) => {
      const s = hit.section, entry = document.createElement("li"), link = document.createElement("a"), text = document.createElement("p");
      link.href = s.place;
      link.textContent = s.title === s.page ? s.page : s.page + ": " + s.title;
      text.textContent = snippet(index, s.text, query);
      entry.className = "search-hit";
      entry.append(link, text);
      list.appendChild(entry);
    });
    if (hits.length) place.appendChild(list);
  }

  return { prepared: prepared, find: find, show: show };
})();

(function () {
  const place = document.getElementById("search-results");
  if (!place || typeof searchIndex === "undefined") return;
  const query = new URLSearchParams(window.location.search).get("q") || "";
  document.getElementById("search-words").value = query;
  if (query.trim()) siteSearch.show(place, siteSearch.prepared(searchIndex, searchSynonyms), query);
})();
