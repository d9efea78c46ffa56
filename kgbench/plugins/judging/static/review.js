// SPDX-License-Identifier: Apache-2.0
// Keyboard shortcuts for the review of an item. Without this script, Tab, arrows and Enter work.
(() => {
  "use strict";
  const form = document.getElementById("verdict");
  if (!form) return;
  const why = document.getElementById("why");
  const definition = document.getElementById("definition");
  const options = [...form.querySelectorAll("input[name=option]")];
  const pieces = [...document.querySelectorAll(".piece")];
  let sent = false;

  const chosen = () => options.find((one) => one.checked);
  const explain = () => {
    const one = chosen();
    definition.textContent = one ? one.closest("label").title : "";
  };
  const choose = (option) => {
    option.checked = true;
    option.focus({ preventScroll: true });
    explain();
  };
  const follow = (id) => {
    const link = document.getElementById(id);
    if (link) link.click();
  };
  const piece = (step) => {
    const top = (one) => one.getBoundingClientRect().top;
    const place = pieces.findIndex((one) => one === document.activeElement);
    const near = pieces.findIndex((one) => top(one) > 1);
    const from = place >= 0 ? place : step > 0 ? near - 1 : near < 0 ? pieces.length : near;
    const to = pieces[Math.min(Math.max(from + step, 0), pieces.length - 1)];
    if (!to) return;
    to.focus({ preventScroll: true });
    to.scrollIntoView({ block: "start" });
  };

  form.addEventListener("change", explain);
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
  window.addEventListener("pageshow", () => { sent = false; explain(); });

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.isComposing) return;
    const command = event.ctrlKey || event.metaKey;
    if (event.target === why) {
      if (event.key === "Escape") why.blur();
      else if (event.key === "Enter" && command) { event.preventDefault(); form.requestSubmit(); }
      return;
    }
    if (command) return;
    const option = options.find((one) => one.dataset.key === event.key);
    const actions = {
      "/": () => why.focus(),
      j: () => piece(1),
      k: () => piece(-1),
      s: () => follow("skip"),
      b: () => follow("back"),
      "?": () => { const help = document.getElementById("help"); help.open = !help.open; },
    };
    if (option) choose(option);
    else if (event.key in actions) actions[event.key]();
    else if (event.key === "Enter" && !event.target.closest("a, button, summary")) form.requestSubmit();
    else return;
    event.preventDefault();
  });
  explain();
})();
