// All findings, episodes and advice of a served page, with a search, and more rows on request.

const LISTS = {
  findings: { title: "Findings", one: "finding", item: (row) => findingItem(row), none: "No known problem was found." },
  episodes: { title: "Episodes", one: "episode", item: (row) => element("li", {}, kindSwatch(row.kind), element("span", {}, ...episodeText(row))), none: "No root cause: groups only started or shut down." },
  advice: { title: "Advice", one: "change", item: (row) => element("li", {}, adviceCard(row, [], true)), none: "No setting would have made a figure better." },
};
const LIST_ROWS = 50;
let shownList = null;
let listRows = LIST_ROWS;

function showList(name) {
  if (shownList === null) {
    byId("list-filter").addEventListener("input", () => {
      listRows = LIST_ROWS;
      updateList();
    });
    byId("list-more").addEventListener("click", () => {
      listRows += 200;
      updateList();
    });
  }
  if (shownList !== name) listRows = LIST_ROWS;
  shownList = name;
  byId("list-title").textContent = LISTS[name].title;
  updateList();
}

async function updateList() {
  const name = shownList;
  const search = byId("list-filter").value;
  const answer = await ask(name, { search, limit: listRows }).catch((error) => ({ error }));
  if (name !== shownList || search !== byId("list-filter").value) return;
  const rows = answer.listed ? objects(answer.listed) : [];
  byId("list").replaceChildren(...rows.map(LISTS[name].item));
  byId("list-note").textContent = plain(listNote(answer, search, LISTS[name]));
  byId("list-json").href = addressOfAnswer(name, { search, limit: 1000 });
  byId("list-more").hidden = !answer.count || answer.count <= rows.length;
}

function listNote({ error, count, run }, search, { none, one }) {
  if (error) return error.message;
  if (run) return `This lake has none yet: run ${run}.`;
  if (count === 0) return search ? "None has these words." : none;
  return many(count, one);
}
