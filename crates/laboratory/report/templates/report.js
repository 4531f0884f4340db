"use strict";

// Sorting: a header's button orders the rows by data-value, ascending first. Fields without a value
// come last in both orders.
for (const table of document.querySelectorAll("table.sortable")) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    header.querySelector("button").addEventListener("click", () => {
      const descending = header.getAttribute("aria-sort") === "ascending";
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const numeric = header.classList.contains("number");
      const body = table.tBodies[0];
      const rows = [...body.rows];
      const key = (row) => row.cells[column].dataset.value;
      rows.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === undefined || y === undefined) {
          return (x === undefined) - (y === undefined);
        }
        const order = numeric ? Number(x) - Number(y) : x.localeCompare(y, "en", { numeric: true });
        return descending ? -order : order;
      });
      body.append(...rows);
    });
  });
}

// Paper cannot be opened: in print, what folds is open, but the receipts of valid trials, which would
// be a page each.
const folded = "details:not([open]):not(.trial), .invalid details.trial:not([open])";
const print = matchMedia("print");
let opened = [];
const fold = () => {
  if (print.matches) {
    const closed = [...document.querySelectorAll(folded)];
    closed.forEach((details) => { details.open = true; });
    opened.push(...closed);
  } else {
    opened.forEach((details) => { details.open = false; });
    opened = [];
  }
};
print.addEventListener("change", fold);
fold();

// A link to the trials of a cell opens them.
const reveal = () => {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    for (let at = target; at; at = at.parentElement?.closest("details")) {
      at.open = true;
    }
    target.scrollIntoView();
  }
};
addEventListener("hashchange", reveal);
reveal();
