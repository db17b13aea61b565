// Small help for pages that work without it: what is sent comes back without losing one's place, the state is
// asked for every second, keys and dragging on cards. Nothing is stored in the browser.

const parser = new DOMParser();
let busy = false;
let held = false; // a mouse button is down: what is exchanged under it would never hear that it was clicked
const waiting = []; // buttons that were pressed while an answer was under way, by their ids

document.addEventListener("pointerdown", () => (held = true), true);
for (const end of ["pointerup", "pointercancel", "dragend"]) {
  document.addEventListener(end, () => setTimeout(() => (held = false)), true); // after the click
}

function keyOf(element) {
  return element && element.id ? element.id : null;
}

// What was typed and not sent yet: it stays when a page is drawn anew, or comes back with what was wrong.
function typedFields() {
  const fields = document.querySelectorAll(
    "#main input[id]:not([type=checkbox]):not([type=radio]), #main textarea[id], #main select[id]:not([multiple]):not([data-submit])",
  );
  const changed = (field) =>
    field.matches("select")
      ? [...field.options].some((option) => option.selected !== option.defaultSelected && option.selected)
      : field.value !== field.defaultValue;
  return [...fields].filter(changed).map((field) => [field.id, field.value]);
}

// Show a page that the server has drawn: the parts that differ are exchanged, the place is kept.
function show(html, address) {
  const next = parser.parseFromString(html, "text/html");
  for (const spare of next.querySelectorAll("noscript")) spare.remove(); // read as if there were no script
  const focused = keyOf(document.activeElement);
  const card = document.activeElement?.closest?.(".card")?.id;
  const opened = [...document.querySelectorAll("details[id]")].map((d) => [d.id, d.open]);
  const place = window.scrollY;
  const typed = address ? [] : typedFields();
  const ticked = address ? [] : [...document.querySelectorAll("#tree input:checked")].map((box) => box.id);
  const inner = document.querySelector(".beside .scroll")?.scrollTop ?? 0;
  const before = new Set([...document.querySelectorAll(".beside pre span")].map((s) => s.textContent));
  document.title = next.title;
  document.documentElement.lang = next.documentElement.lang;
  document.body.replaceChildren(...[...next.body.childNodes].map((n) => document.adoptNode(n)));
  for (const [name, value] of Object.entries(next.body.dataset)) document.body.dataset[name] = value;
  if (address) history.replaceState(null, "", address);
  for (const [id, open] of opened) {
    const found = document.getElementById(id);
    if (found) found.open = open;
  }
  for (const [id, value] of typed) {
    const found = document.getElementById(id);
    if (found && !found.disabled) found.value = value;
  }
  for (const id of ticked) {
    const box = document.getElementById(id);
    if (box) box.checked = true;
  }
  window.scrollTo(0, place);
  markNew(before, inner);
  prepare();
  const target = (focused && document.getElementById(focused)) || (card && document.getElementById(card));
  if (target) target.focus({ preventScroll: false });
}

// Lines of the plan that an edit has changed.
function markNew(before, inner) {
  const box = document.querySelector(".beside .scroll");
  if (!box) return;
  box.scrollTop = inner;
  if (!before.size) return;
  let first = null;
  for (const line of box.querySelectorAll("pre span")) {
    if (!before.has(line.textContent)) {
      line.classList.add("new");
      first ??= line;
    }
  }
  if (first) box.scrollTop = first.offsetTop - box.offsetTop - box.clientHeight / 3;
}

async function send(form, button) {
  if (busy) {
    if (button?.id) waiting.push(button.id);
    return;
  }
  busy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    const fields = new URLSearchParams(new FormData(form));
    if (button && button.name) fields.set(button.name, button.value);
    const answer = await fetch(form.action, {
      method: "POST", body: fields, credentials: "same-origin", redirect: "follow",
    });
    const kind = answer.headers.get("content-type") || "";
    if (kind.startsWith("text/html")) {
      const own = new URL(answer.url);
      show(await answer.text(), answer.redirected ? own.pathname + own.search + own.hash : null);
      document.getElementById("trouble")?.scrollIntoView({ block: "center" });
    } else {
      say(await answer.text());
    }
  } catch {
    say(document.body.dataset.closed);
  } finally {
    busy = false;
    document.body.removeAttribute("aria-busy");
  }
  if (waiting.length) document.getElementById(waiting.shift())?.click(); // on the page as it is now
}

function say(words) {
  const live = document.getElementById("live");
  if (live && live.textContent !== words) {
    live.textContent = words;
    live.classList.remove("hidden");
    live.classList.add("trouble");
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset || !("enhance" in form.dataset)) return;
  event.preventDefault();
  send(form, event.submitter);
});

document.addEventListener("change", (event) => {
  if ("submit" in (event.target.dataset ?? {})) event.target.form.requestSubmit();
});

// -- keys ---------------------------------------------------------------------------------------------

const typing = (element) => element.matches?.("input:not([type=checkbox]):not([type=radio]), select, textarea");

document.addEventListener("keydown", (event) => {
  const target = event.target;
  const undo = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
  if (undo && !typing(target)) {
    event.preventDefault();
    document.getElementById(event.shiftKey ? "do-redo" : "do-undo")?.click();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || typing(target)) return;
  const bar = target.closest?.("[role=toolbar]");
  if (bar && ["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) {
    event.preventDefault();
    const all = [...bar.querySelectorAll("button:enabled")];
    const at = all.indexOf(target);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 }[event.key];
    const next = all[(to + all.length) % all.length];
    for (const other of all) other.tabIndex = other === next ? 0 : -1;
    next?.focus();
    return;
  }
  const card = target.closest?.(".card");
  if (!card || event.key.length !== 1) return;
  const key = event.key.toLowerCase();
  if (key === "j" || key === "k") {
    const all = [...document.querySelectorAll(".card")];
    all[all.indexOf(card) + (key === "j" ? 1 : -1)]?.focus();
    event.preventDefault();
    return;
  }
  const button = card.querySelector(`button[data-key="${CSS.escape(key)}"]:enabled`);
  if (button) {
    event.preventDefault();
    card.focus();
    button.click();
  }
});

// One stop for Tab in each row of buttons: arrows move within.
function prepare() {
  for (const bar of document.querySelectorAll("[role=toolbar]")) {
    const all = [...bar.querySelectorAll("button")];
    const chosen = all.find((b) => b.getAttribute("aria-pressed") === "true") ?? all[0];
    for (const button of all) button.tabIndex = button === chosen ? 0 : -1;
  }
}

// -- dragging -----------------------------------------------------------------------------------------

let dragged = null;

document.addEventListener("dragstart", (event) => {
  dragged = event.target.closest?.(".card[draggable=true]");
  dragged?.classList.add("held");
  event.dataTransfer?.setData("text/plain", "");
});

document.addEventListener("dragend", () => {
  dragged?.classList.remove("held");
  dragged = null;
  for (const lane of document.querySelectorAll(".lane.over")) lane.classList.remove("over");
});

document.addEventListener("dragover", (event) => {
  const lane = event.target.closest?.(".lane");
  for (const other of document.querySelectorAll(".lane.over")) if (other !== lane) other.classList.remove("over");
  if (dragged && lane) {
    event.preventDefault();
    lane.classList.add("over");
  }
});

document.addEventListener("drop", (event) => {
  const lane = event.target.closest?.(".lane");
  if (!dragged || !lane) return;
  event.preventDefault();
  dragged.querySelector(`button[name=role][value="${CSS.escape(lane.dataset.role)}"]`)?.click();
});

// -- files from elsewhere ------------------------------------------------------------------------------

// A file that is dropped into the window, or chosen in the field for it, is sent to the studio as it is.
const takesFiles = () => document.body.dataset.drop !== undefined;
const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

document.addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault(); // else the browser would leave the page and show the file
  if (event.dataTransfer) event.dataTransfer.dropEffect = takesFiles() ? "copy" : "none";
  if (takesFiles()) document.body.classList.add("dropping");
});

document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("dropping");
});

document.addEventListener("drop", (event) => {
  document.body.classList.remove("dropping");
  if (!hasFiles(event)) return;
  event.preventDefault();
  if (takesFiles()) copy([...event.dataTransfer.files]);
});

document.addEventListener("change", (event) => {
  if ("dropFile" in (event.target.dataset ?? {})) copy([...event.target.files]);
});

async function copy(files) {
  const words = document.body.dataset;
  if (busy || !files.length) return;
  busy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    for (const file of files) {
      if (file.size > Number(words.most)) return say(words.large);
      try {
        await file.slice(0, 1).arrayBuffer(); // a folder, or a file that nobody may read
      } catch {
        return say(words.unread);
      }
      say(`${words.copying} ${file.name}`);
      const recipient = document.getElementById("for-file")?.value ?? "public";
      const answer = await fetch("/open/drop", {
        method: "POST",
        body: file,
        credentials: "same-origin",
        headers: {
          "content-type": "application/octet-stream",
          "x-file-name": encodeURIComponent(file.name),
          "x-open": files.length === 1 ? "yes" : "no",
          "x-recipient": recipient,
        },
      });
      if (!(answer.headers.get("content-type") || "").startsWith("text/html")) return say(await answer.text());
      const own = new URL(answer.url);
      show(await answer.text(), answer.redirected ? own.pathname : "/open");
      if (!answer.redirected) return document.getElementById("trouble")?.scrollIntoView({ block: "center" });
    }
  } catch {
    say(words.unread);
  } finally {
    busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

// -- what others do -----------------------------------------------------------------------------------

async function ask() {
  const screen = document.getElementById("main")?.dataset.screen ?? "open";
  if (!document.hidden && !busy && !held) {
    try {
      const answer = await fetch(`/state?screen=${encodeURIComponent(screen)}`, { credentials: "same-origin" });
      if (answer.ok) {
        const state = await answer.json();
        const work = document.getElementById("work");
        if (work && work.dataset.shown !== state.work && !held) {
          const focused = keyOf(document.activeElement);
          work.replaceChildren(...parser.parseFromString(state.work, "text/html").body.childNodes);
          work.dataset.shown = state.work;
          if (focused === "cancel-work") document.getElementById(focused)?.focus();
        }
        if (state.changes !== document.body.dataset.changes && !typing(document.activeElement) && !busy && !held) {
          const page = await fetch(location.pathname + location.search, { credentials: "same-origin" });
          if ((page.headers.get("content-type") || "").startsWith("text/html")) {
            const html = await page.text();
            if (!busy && !held) show(html, null);
          }
        }
      }
    } catch {
      say(document.body.dataset.closed);
    }
  }
  setTimeout(ask, 1000);
}

prepare();
setTimeout(ask, 400);
