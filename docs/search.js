// Finds sections by their words: those that are rare in all pages, or stand in a heading, count most (BM25).
// Runs from a folder as over HTTP: no worker, nothing is fetched.
"use strict";

var siteSearch = (function () {
  var LESS = new Set(("a an and any are as at be been but by can could did do does for from had has have how i if in into is it its " +
    "may me my no not of on one or our so some than that the their them then there they this to us use used using was we were what " +
    "about get got like need please somebody someone tell want when where which who why will with would you your").split(" "));
  // Words people use, and the words of these pages.
  var ALSO = {
    sdc: ["disclosure", "anonymize"], gdpr: ["privacy", "officer", "determination"], hipaa: ["privacy", "officer", "determination"],
    deidentify: ["anonymize", "pseudonyms"], deidentification: ["anonymize", "pseudonyms"], redact: ["drop", "suppress"],
    mask: ["pseudonyms", "generalize"], dp: ["epsilon", "differential"], excel: ["xlsx"], postal: ["zip"], postcode: ["zip"],
    birthday: ["birth"], fake: ["synthetic", "invented"], generate: ["synthesize"], risk: ["attack"], install: ["pip"], offline: ["internet", "network"], internet: ["network"],
    cohort: ["table"], date: ["day", "shift"], several: ["many"], two: ["several"], per: ["each"], patient: ["person"], people: ["person"],
    column: ["columns"], meaning: ["means"], mean: ["means"], keep: ["kept"], share: ["publish", "release"], give: ["release"],
  };
  var FACTOR = 0.4; // of a word that was only meant

  // A light stem: dates and date, synthesized and synthesize.
  function stem(word) {
    if (word.length > 5 && word.endsWith("ies")) return word.slice(0, -3) + "y";
    ["ations", "ation", "ings", "ing", "ized", "izes", "izing", "ed", "es", "s", "e"].some(function (end) {
      if (word.length - end.length >= 3 && word.endsWith(end) && !word.endsWith("ss")) {
        word = word.slice(0, -end.length);
        return true;
      }
      return false;
    });
    return word;
  }

  function words(text) {
    return (text.toLowerCase().normalize("NFKC").match(/[\p{L}\p{N}]+(?:[._-][\p{L}\p{N}]+)*/gu) || []).flatMap(function (w) {
      var parts = w.split(/[._-]/);
      return parts.length > 1 ? [w].concat(parts) : [w];
    });
  }

  function counted(text, times, into) {
    words(text).forEach(function (w) { var s = stem(w); into.set(s, (into.get(s) || 0) + times); });
    return into;
  }

  function prepared(sections) {
    var inHow = new Map(), length = 0;
    var documents = sections.map(function (section) {
      var bag = counted(section.page, 3, counted(section.title, 6, counted(section.text, 1, new Map())));
      bag.forEach(function (_, w) { inHow.set(w, (inHow.get(w) || 0) + 1); });
      var size = 0;
      bag.forEach(function (n) { size += n; });
      length += size;
      return { section: section, bag: bag, size: size };
    });
    return { documents: documents, inHow: inHow, mean: length / Math.max(1, documents.length) };
  }

  function asked(query) {
    var wanted = new Map();
    var put = function (w, weight) { var s = stem(w); wanted.set(s, Math.max(wanted.get(s) || 0, weight)); };
    var all = words(query), told = all.filter(function (w) { return !LESS.has(w); });
    (told.length ? told : all).forEach(function (w) {
      put(w, 1);
      (ALSO[w] || ALSO[w.replace(/s$/, "")] || []).forEach(function (other) { put(other, FACTOR); });
    });
    return wanted;
  }

  // The best section of each page, best page first.
  function find(index, query, most) {
    var n = index.documents.length, wanted = asked(query), best = new Map();
    index.documents.forEach(function (d) {
      var score = 0, met = 0, sum = 0;
      wanted.forEach(function (weight, w) {
        sum += weight;
        var f = d.bag.get(w);
        if (!f) return;
        met += weight;
        var rare = Math.log(1 + (n - index.inHow.get(w) + 0.5) / (index.inHow.get(w) + 0.5));
        score += weight * rare * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * d.size / index.mean));
      });
      if (!score) return;
      score *= 0.5 + met / sum; // who has all of the words before who has one often
      if (/^(decisions\/|reference\/|papers|gallery|names|development)/.test(d.section.place)) score *= 0.6; // for those who build it
      var page = d.section.place.split("#")[0], before = best.get(page);
      if (!before || before.score < score) best.set(page, { score: score, section: d.section });
    });
    return Array.from(best.values()).sort(function (a, b) { return b.score - a.score; }).slice(0, most || 20);
  }

  function snippet(text, query) {
    var wanted = asked(query), at = -1, seen = /[\p{L}\p{N}]+/gu, m;
    while (at < 0 && (m = seen.exec(text))) if (wanted.get(stem(m[0].toLowerCase())) === 1) at = m.index;
    var from = Math.max(0, text.lastIndexOf(" ", Math.max(0, at - 60)) + 1), end = text.lastIndexOf(" ", from + 220);
    if (text.length <= from + 220 || end <= from) end = text.length;
    return (from ? "… " : "") + text.slice(from, end).trim() + (end < text.length ? " …" : "");
  }

  function show(place, index, query) {
    place.textContent = "";
    var hits = find(index, query);
    var count = document.createElement("p");
    count.textContent = hits.length ? hits.length + (hits.length === 20 ? " or more" : "") + " pages" :
      "Nothing was found. Fewer or other words may help; the glossary has the words of these pages.";
    place.appendChild(count);
    hits.forEach(function (hit) {
      var s = hit.section, entry = document.createElement("div"), link = document.createElement("a"), text = document.createElement("p");
      link.href = s.place;
      link.textContent = s.title === s.page ? s.page : s.page + ": " + s.title;
      text.textContent = snippet(s.text, query);
      entry.className = "search-hit";
      entry.appendChild(link);
      entry.appendChild(text);
      place.appendChild(entry);
    });
  }

  return { prepared: prepared, find: find, show: show };
})();

(function () {
  var place = document.getElementById("search-results");
  if (!place || typeof searchIndex === "undefined") return;
  var query = new URLSearchParams(window.location.search).get("q") || "";
  document.getElementById("search-words").value = query;
  if (query.trim()) siteSearch.show(place, siteSearch.prepared(searchIndex), query);
})();
