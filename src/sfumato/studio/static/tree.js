// The tree of a hierarchy by keys and by dragging. Without it everything can be done by ticks, fields and buttons.

const field = (name) => document.getElementById(`tree-${name}`);
const boxes = () => [...document.querySelectorAll("#tree input[name=node]")].filter((box) => box.checkVisibility());

// Do one thing with a node that need not be ticked; what was ticked is left out of it.
function press(what, node, onto) {
  if (document.body.hasAttribute("aria-busy")) return; // it would be done to the page as it is then
  field("dragged").value = node ?? "";
  field("onto").value = onto ?? "";
  field(what).click();
  field("dragged").value = "";
  field("onto").value = "";
}

function toName(what) {
  const name = field("name");
  name.dataset.then = what;
  name.focus();
  name.select();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  if (event.key === "Enter" && target.matches?.("#tree-name, #tree-target")) {
    event.preventDefault();
    field(target.id === "tree-target" ? "move" : target.dataset.then || "group").click();
    return;
  }
  if (!target.matches?.("#tree input[name=node]")) return;
  const item = target.closest("li");
  const fold = item.querySelector(":scope > details");
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const all = boxes();
  const to = (box) => box?.focus();
  const done = {
    ArrowDown: () => to(all[all.indexOf(target) + 1]),
    ArrowUp: () => to(all[all.indexOf(target) - 1]),
    Home: () => to(all[0]),
    End: () => to(all.at(-1)),
    ArrowRight: () => {
      if (fold && !fold.open) fold.open = true;
      else if (fold) to(fold.querySelector("input[name=node]"));
      else item.querySelector(":scope > a.show")?.click();
    },
    ArrowLeft: () => {
      if (fold?.open) fold.open = false;
      else to(item.parentElement.closest("li")?.querySelector("input[name=node]"));
    },
    v: () => press("drop", "", target.value),
    u: () => {
      field("target").value = "*";
      field("move").click();
    },
    s: () => press("split", target.value),
    g: () => toName("group"),
    m: () => toName("merge"),
    r: () => {
      for (const box of all) box.checked = box === target;
      toName("rename");
    },
  }[key];
  if (!done) return;
  event.preventDefault();
  done();
});

// -- dragging -----------------------------------------------------------------------------------------

let held = null;
const rowOf = (event) => event.target.closest?.("#tree-form .node[data-node]");

document.addEventListener("dragstart", (event) => {
  held = rowOf(event);
  if (held && !held.draggable) held = null;
  held?.classList.add("held");
});

document.addEventListener("dragend", () => {
  held?.classList.remove("held");
  held = null;
  for (const row of document.querySelectorAll(".node.over")) row.classList.remove("over");
});

document.addEventListener("dragover", (event) => {
  const row = rowOf(event);
  for (const other of document.querySelectorAll(".node.over")) if (other !== row) other.classList.remove("over");
  if (held && row && row !== held) {
    event.preventDefault();
    row.classList.add("over");
  }
});

document.addEventListener("drop", (event) => {
  const row = rowOf(event);
  if (!held || !row || row === held) return;
  event.preventDefault();
  const ticked = held.querySelector("input:checked");
  press("drop", ticked ? "" : held.dataset.node, row.dataset.node);
});
