// Tooltips for the figures: by pointer, by touch and by the arrow keys. Without this script the browser's
// own tooltips (<title>) do the same for the pointer. Nothing is loaded, nothing is sent.
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  let current = null;
  const show = (mark) => {
    if (current) current.classList.remove("here");
    current = mark;
    tip.hidden = !mark;
    if (!mark) return;
    mark.classList.add("here");
    tip.textContent = mark.dataset.says;
    const box = mark.getBoundingClientRect();
    const size = tip.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    const left = box.left + box.width / 2 - size.width / 2;
    const above = box.top - size.height - 8;
    tip.style.left = `${Math.max(6, Math.min(width - size.width - 6, left))}px`;
    tip.style.top = `${above > 40 ? above : box.bottom + 8}px`;
  };
  for (const panel of document.querySelectorAll(".panel")) {
    const marks = [];
    for (const title of panel.querySelectorAll("svg title")) {
      const mark = title.parentNode;
      mark.dataset.says = title.textContent;
      title.remove();
      marks.push(mark);
    }
    if (!marks.length) continue;
    panel.tabIndex = 0;
    panel.addEventListener("pointerover", (e) => show(e.target.closest("[data-says]")));
    panel.addEventListener("pointerleave", () => show(null));
    panel.addEventListener("blur", () => show(null));
    panel.addEventListener("keydown", (e) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
      if (e.key === "Escape") show(null);
      if (!step) return;
      e.preventDefault();
      const at = marks.indexOf(current);
      show(marks[at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length]);
    });
  }
  addEventListener("scroll", () => show(current), { passive: true, capture: true }); // moves along
})();
