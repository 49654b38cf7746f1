// Sorts the rows of the table by a column. The page is XML as well: no character in here needs an escape there.
(() => {
  const table = document.querySelector("table.sortable");
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  const order = (a, b) => typeof a === "string" ? a.localeCompare(b) : a - b;
  const sort = (column, down) => {
    const sign = down ? -1 : 1;
    const rows = [...body.rows].sort((a, b) => sign * order(value(a, column), value(b, column)));
    body.append(...rows);
    heads.forEach((head, i) => {
      const now = down ? "descending" : "ascending";
      head.setAttribute("aria-sort", i === column ? now : "none");
    });
    // The page of a running suite loads itself again, and keeps the order by its address.
    history.replaceState(null, "", (down ? "#-" : "#+") + column);
  };
  heads.forEach((head, i) => {
    head.querySelector("button").addEventListener("click", () => sort(i, head.getAttribute("aria-sort") === "ascending"));
  });
  const kept = /^#([-+])(\d+)$/.exec(location.hash);
  if (kept !== null) {
    if (heads[kept[2]] !== undefined) sort(Number(kept[2]), kept[1] === "-");
  }
})();
