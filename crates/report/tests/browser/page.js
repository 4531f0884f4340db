// What the test asks a page for; each is a property of `page`.
const page = {
  // The bars of each chart with the room that they have.
  charts: () => [...document.querySelectorAll("figure.chart")].map((figure) => {
    const room = figure.querySelector("svg.plot").getBoundingClientRect();
    const bars = [...figure.querySelectorAll("rect.bar")].map((bar) => bar.getBoundingClientRect());
    return {
      bars: bars.length,
      rows: figure.querySelectorAll("svg.row").length,
      empty: bars.filter((bar) => !(bar.width > 0 && bar.height > 0)).length,
      outside: bars.filter((bar) => bar.left < room.left - 1 || bar.right > room.right + 1
        || bar.top < room.top - 1 || bar.bottom > room.bottom + 1).length,
      described: figure.querySelector("title").textContent !== ""
        && figure.querySelector("desc").textContent !== "",
      // Texts of a row that lie on each other.
      overlapping: [...figure.querySelectorAll("svg.row")].filter((row) => {
        const [label, value] = ["label", "value"].map((name) =>
          row.querySelector(`text.${name}`)?.getBoundingClientRect());
        return label && value && label.right > value.left;
      }).map((row) => row.textContent.trim().replace(/\s+/g, " ")),
    };
  }),
  // The sort values of a column of the first table that can be sorted, from top to bottom.
  column: (index) => [...document.querySelector("table.sortable").querySelectorAll("tbody tr")]
    .map((row) => row.cells[index].dataset.value ?? null),
  headers: () => [...document.querySelector("table.sortable").querySelectorAll("th")]
    .map((header) => [header.firstChild.firstChild.textContent, header.getAttribute("aria-sort")]),
  closed: () => document.querySelectorAll("details:not([open])").length,
  // The WCAG 2.2 contrast of text with the page behind it, by selector.
  contrasts: (selectors) => {
    const luminance = (color) => {
      const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map((part) => {
        const share = Number(part) / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = luminance(getComputedStyle(document.body).backgroundColor);
    return selectors.map((selector) => {
      const element = document.querySelector(selector);
      const style = getComputedStyle(element);
      const text = luminance(element instanceof SVGElement ? style.fill : style.color);
      const [dark, light] = [behind, text].sort((a, b) => a - b);
      return [selector, (light + 0.05) / (dark + 0.05)];
    });
  },
  background: () => getComputedStyle(document.body).backgroundColor,
  overflow: () => document.scrollingElement.scrollWidth - innerWidth,
};
