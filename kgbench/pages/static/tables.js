// SPDX-License-Identifier: Apache-2.0
// Sorts tables by a click on a heading, and filters their rows by a text, without a reload.
// data-sortable marks sortable tables; data-filterable marks filterable ones and names their rows.
// A cell's data-value, if present, is its sort key.
(() => {
  "use strict";
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  const key = (row, column) => {
    const cell = row.cells[column];
    const value = cell.dataset.value ?? cell.textContent.trim();
    const number = value === "" ? NaN : Number(value);
    return Number.isNaN(number) ? value : number;
  };

  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === typeof b) return collator.compare(a, b);
    return typeof a === "number" ? -1 : 1;
  };

  const sort = (table, heading, column) => {
    const first = heading.classList.contains("number") && !heading.classList.contains("low-first")
      || heading.classList.contains("upright") ? "descending" : "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    const order = heading.getAttribute("aria-sort") === first ? second : first;
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => row.cells.length > column);
      const keyed = rows.map((row, place) => [key(row, column), place, row]);
      keyed.sort((a, b) => sign * compare(a[0], b[0]) || a[1] - b[1]);
      body.append(...keyed.map((one) => one[2]));
    }
  };

  const sortable = (table) => {
    const headings = table.tHead?.rows[0]?.cells ?? [];
    [...headings].forEach((heading, column) => {
      if ("unsorted" in heading.dataset) return;
      if (heading.querySelector("a")) {
        // The heading keeps its link; a button beside the link sorts.
        const mark = document.createElement("button");
        mark.className = "sort";
        mark.type = "button";
        mark.textContent = "↕";
        mark.setAttribute("aria-label", `Sort by ${heading.textContent.trim()}`);
        mark.addEventListener("click", () => sort(table, heading, column));
        heading.append(mark);
        return;
      }
      const button = document.createElement("button");
      button.className = "sort";
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading, column));
      heading.append(button);
    });
  };

  const filterable = (tables) => {
    const what = tables[0].dataset.filterable;
    const label = document.createElement("label");
    label.className = "filter unprinted";
    const field = document.createElement("input");
    field.type = "search";
    field.placeholder = `Filter ${what}`;
    field.setAttribute("aria-label", `Filter ${what}`);
    const said = document.createElement("small");
    said.setAttribute("role", "status");
    label.append(field, " ", said);
    const rows = tables.flatMap((table) => [...table.tBodies].flatMap((body) => [...body.rows]))
      .filter((row) => row.querySelector("th[scope=row]"));
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const head = row.querySelector("th[scope=row]");
        const text = `${head.textContent} ${head.querySelector("[title]")?.title ?? ""}`;
        row.hidden = !words.every((word) => text.toLowerCase().includes(word));
      }
      const shown = rows.filter((row) => !row.hidden && tables[0].contains(row)).length;
      said.textContent = words.length ? `${shown} ${what}` : "";
    });
    (tables[0].closest(".scroll") ?? tables[0]).before(label);
  };

  for (const table of document.querySelectorAll("table[data-sortable]")) sortable(table);
  const groups = new Map();
  for (const table of document.querySelectorAll("table[data-filterable]")) {
    const what = table.dataset.filterable;
    groups.set(what, [...(groups.get(what) ?? []), table]);
  }
  for (const tables of groups.values()) filterable(tables);
})();
