// What the test asks a page for; each is a property of `page`.
const page = {
  // The bars of each chart with the room that they have.
  charts: () => [...document.querySelectorAll("figure.chart:not(.search)")].filter((figure) => figure.checkVisibility()).map((figure) => {
    const room = figure.getBoundingClientRect();
    const bars = [...figure.querySelectorAll("rect.bar")].map((bar) => bar.getBoundingClientRect());
    return {
      bars: bars.length,
      rows: figure.querySelectorAll(".row").length,
      empty: bars.filter((bar) => !(bar.width > 0 && bar.height > 0)).length,
      outside: bars.filter((bar) => bar.left < room.left - 1 || bar.right > room.right + 1
        || bar.top < room.top - 1 || bar.bottom > room.bottom + 1).length,
      described: ["labelledby", "describedby"].flatMap((by) =>
        (figure.querySelector("[role=img]").getAttribute(`aria-${by}`) ?? "").split(" ").filter(Boolean))
        .map((id) => document.getElementById(id).textContent !== ""),
    };
  }),
  // Every text of the charts that are shown, with the box around its letters.
  texts: () => [...document.querySelectorAll(
    "figure .label, figure .value, figure .ticks span, figure .plot text, figure .share, figure .axis-title, figure .reference")]
    .filter((text) => text.checkVisibility())
    .map((element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      const { left, right, top, bottom } = range.getBoundingClientRect();
      return { element, left, right, top, bottom, text: element.textContent.trim().replace(/\s+/g, " ") };
    }),
  // Texts of one chart that lie on each other.
  overlapping: () => {
    const texts = page.texts();
    const figure = (of) => of.element.closest("figure");
    return texts.flatMap((a, place) => texts.slice(place + 1)
      .filter((b) => figure(a) === figure(b) && a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 2 && b.top < a.bottom - 2)
      .map((b) => [a.text, b.text]));
  },
  // Texts that leave the page or are shortened.
  cut: () => page.texts().filter((of) => of.left < 0 || of.right > innerWidth || of.text.includes("…"))
    .map((of) => of.text),
  // The smallest letters of the charts, in pixels.
  smallest: () => Math.min(...page.texts().map((of) => parseFloat(getComputedStyle(of.element).fontSize))),
  // The last number of the axis of each chart with such a unit.
  ends: (unit) => [...document.querySelectorAll("figure")]
    .filter((figure) => figure.querySelector(".axis-title")?.textContent.startsWith(unit))
    .map((figure) => figure.querySelector(".ticks span:last-child, .numbers text:nth-last-child(1 of .end)").textContent),
  // The lower end of the last element of a selector, in pixels.
  bottom: (selector) => Math.max(...[...document.querySelectorAll(selector)]
    .map((element) => element.getBoundingClientRect().bottom)),
  // Headings that skip a level.
  skipped: () => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((h) => Number(h.tagName[1]))
    .filter((level, place, all) => level > (all[place - 1] ?? 0) + 1),
  // The sort values of a column of the first table that can be sorted, from top to bottom.
  column: (index) => [...document.querySelector(page.table).querySelectorAll("tbody tr")]
    .map((row) => row.cells[index].dataset.value ?? null),
  headers: () => [...document.querySelector(page.table).querySelectorAll("th")]
    .map((header) => [header.firstChild.firstChild.textContent, header.getAttribute("aria-sort")]),
  // That of all cells.
  table: ".chapter table.sortable",
  closed: () => document.querySelectorAll("details:not([open])").length,
  // The relative luminance of a colour (WCAG 2.2).
  luminance: (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map((part) => {
      const share = Number(part) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  },
  // The shares in bars: how far each is from the ends of its bar, in pixels, and its contrast with it.
  shares: () => [...document.querySelectorAll(".track .share")].map((text) => {
    const bar = text.previousElementSibling;
    const [inner, outer] = [text, bar].map((of) => of.getBoundingClientRect());
    const room = Math.min(inner.left - outer.left, outer.right - inner.right);
    const [a, b] = [text, bar].map((of) => page.luminance(getComputedStyle(of).fill));
    return [text.textContent, room, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
  }),
  // The WCAG 2.2 contrast of text with what is behind it, by selector.
  contrasts: (selectors) => {
    const { luminance } = page;
    const behind = (element) => {
      const color = getComputedStyle(element).backgroundColor;
      return color === "rgba(0, 0, 0, 0)" ? behind(element.parentElement) : luminance(color);
    };
    return selectors.map((selector) => {
      const element = document.querySelector(selector);
      const style = getComputedStyle(element);
      const text = luminance(element instanceof SVGElement ? style.fill : style.color);
      const [dark, light] = [behind(element), text].sort((a, b) => a - b);
      return [selector, (light + 0.05) / (dark + 0.05)];
    });
  },
  background: () => getComputedStyle(document.body).backgroundColor,
  overflow: () => document.scrollingElement.scrollWidth - innerWidth,
};
