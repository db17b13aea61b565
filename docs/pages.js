// The menu on a narrow screen. Everything else on these pages works without a script.
"use strict";

(function () {
  const button = document.querySelector(".menu-button"), menu = document.querySelector(".wy-nav-side");
  if (!button || !menu) return;
  menu.id = "menu";
  button.addEventListener("click", () => {
    const open = menu.classList.toggle("shift");
    document.querySelector(".wy-nav-content-wrap").classList.toggle("shift", open);
    button.setAttribute("aria-expanded", String(open));
  });
})();
