// Statements of the reader, and the views that answer questions.

let questions = null;

async function showSql() {
  if (questions === null) {
    questions = new Map();
    const answer = await ask("questions").catch(sqlFailed);
    for (const each of answer ? answer.questions : []) questions.set(each.name, each);
    byId("question").append(element("option", { value: "" }, "–"),
      ...[...questions.keys()].map((name) => element("option", { value: name }, name)));
    byId("question").addEventListener("change", () => askQuestion(byId("question").value));
    byId("sql-form").addEventListener("submit", (event) => {
      event.preventDefault();
      runSql();
    });
    byId("statement").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) runSql();
    });
  }
  const query = new URLSearchParams(location.hash.slice(1)).get("query");
  if (query !== null && query !== byId("statement").value) {
    byId("statement").value = query;
    runSql();
  }
}

function askQuestion(name) {
  const question = questions.get(name);
  byId("sql-about").textContent = question ? plain(question.about) : "";
  if (!question) return;
  byId("statement").value = `SELECT * FROM ${name}\nWHERE cluster_id = '${page.cluster.replaceAll("'", "''")}'`;
  runSql();
}

let statements = 0;

async function runSql() {
  const query = byId("statement").value;
  statements += 1;
  const mine = statements;
  history.replaceState(null, "", `#view=sql&query=${encodeURIComponent(query)}`);
  byId("sql-note").textContent = "Running …";
  byId("sql-excerpt").hidden = true;
  const began = performance.now();
  const answer = await ask("sql", { query }).catch(sqlFailed);
  if (!answer || mine !== statements) return;
  const { columns, rows, types, is_cut: isCut } = answer;
  const kinds = types.map((type) => (/INT|DOUBLE|DECIMAL/.test(type) ? "number" : "wide"));
  fillTable(byId("sql-rows"), columns.map(columnHead), rows.map((row) => element("tr", {},
    ...row.map((value, at) => element("td", { class: kinds[at] }, cellText(value))))));
  byId("sql-note").textContent = `${isCut ? "The first " : ""}${many(rows.length, "row")}, ${duration(performance.now() - began)}`;
  byId("sql-json").href = addressOfAnswer("sql", { query });
  byId("sql-csv").href = `data:text/csv;charset=utf-8,${encodeURIComponent(csvOf(columns, rows))}`;
  for (const id of ["sql-json", "sql-csv"]) byId(id).hidden = false;
}

function sqlFailed(error) {
  byId("sql-note").textContent = plain(error.message);
  byId("sql-excerpt").textContent = error.excerpt || "";
  byId("sql-excerpt").hidden = !error.excerpt;
}

function cellText(value) {
  if (value === null) return "–";
  return typeof value === "object" ? JSON.stringify(value) : `${value}`;
}

/** RFC 4180. A spreadsheet runs cells that begin with = + - @ as formulas: an apostrophe prevents this. */
function csvOf(columns, rows) {
  const cell = (value) => {
    const text = value === null ? "" : cellText(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n");
}
