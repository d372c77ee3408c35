// Sorts and filters the table, and opens buckets in it. The order, the filter and the open bucket are kept in the URL's fragment.

const FIRST_ROWS = 40, PAGE_ROWS = 100; // rows in the document at first, and rows that are added each time the reader scrolls to the end
const FACETS = {version: 'version', os: 'system', device: 'device', cause: 'cause', framework: 'framework', screen: 'screen', action: 'action', owner: 'owner', state: 'state', marks: 'mark'};
const FACET_VALUES = 200;
const table = document.getElementById('buckets'), body = table.tBodies[0], tools = document.getElementById('tools'), status = document.getElementById('status');

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const name of Object.keys(attributes || {})) { node.setAttribute(name, attributes[name]); }
  node.append(...children);
  return node;
}

const details = new Map(); // key: rank of a bucket; value: the element with its details
for (const node of document.querySelectorAll('details.bucket')) { details.set(Number(node.dataset.rank), node.querySelector('div')); }
document.getElementById('details').hidden = true; // details are shown in the table instead

// The rows of the buckets without details are text in <noscript>. An element is made from a row when the row is shown.
const maker = document.createElement('tbody'), entryOfRow = new WeakMap();
const ENTITIES = {amp: '&', lt: '<', gt: '>', quot: '"'};
const decodeText = (text) => text.replace(/&(?:#(\d+)|(\w+));/g, (all, code, name) => (code ? String.fromCodePoint(Number(code)) : ENTITIES[name] ?? all));

class Entry {
  constructor(rank, id, title, source) {
    Object.assign(this, {rank, id, row: data.rows[rank], source, escaped: title});
  }
  get title() { return (this.decoded ??= decodeText(this.escaped)); }
  get tr() {
    if (!this.node) {
      maker.innerHTML = this.source;
      this.node = maker.firstElementChild;
      entryOfRow.set(this.node, this);
    }
    return this.node;
  }
}

const entries = Array.from(body.rows, (tr, rank) => {
  const cell = tr.cells[1], id = cell.querySelector('i').textContent, entry = new Entry(rank, id, '', '');
  entry.decoded = cell.textContent.slice(0, -id.length - 1);
  entry.node = tr;
  entryOfRow.set(tr, entry);
  return entry;
});
const rest = document.getElementById('rest');
for (const [line, title, id] of rest ? rest.textContent.matchAll(/^<tr><td>\d+<td>([^<]*) <i>([^<]*)<\/i>.*$/gm) : []) { entries.push(new Entry(entries.length, id, title, line)); }
const byId = new Map(entries.map((entry) => [entry.id, entry]));

let state = {q: '', sort: 'rank', down: false, open: '', facets: {}};
let asked = []; // the terms of the filter
let shown = entries, drawn = 0, focused = null, opened = null, run = 0, written = location.hash;

// ---- order ----

// All versions: text -> foreground_ms, stalls, ms, dumps, and whether the version carries a trend; ascending.
const versions = new Map(data.versions.map(([text, foreground, stalls, ms, dumps, carries]) => [text, {foreground, stalls, ms, dumps, carries: Boolean(carries)}]));
const rated = data.versions.some((v) => v[1]);

// Returns what a bucket has of these versions (a Set), as it would be with their dumps alone; exact: the numbers are no estimates.
function ofVersions(entry, set) {
  const row = entry.row, of = row[ROW.version], parts = data.parts[entry.rank] || []; // parts: dumps and ms of each version, behind the number of fatal stalls
  if (of.length === 1 && parts.length < 2) { return set.has(of[0]) ? {ms: row[ROW.ms], stalls: row[ROW.stalls], exact: true} : {ms: 0, stalls: 0, exact: true}; }
  let dumps = 0, ms = 0, allMs = 0;
  for (let i = 0; i < of.length; i++) {
    const time = parts[2 + 2 * i] || 0;
    allMs += time;
    if (set.has(of[i])) { dumps += parts[1 + 2 * i] || 0; ms += time; }
  }
  const part = row[ROW.dumps] ? dumps / row[ROW.dumps] : 0; // dumps without a version are of none; where only dumps are known by version, the time is taken to be as theirs
  return {ms: allMs ? ms : row[ROW.ms] * part, stalls: row[ROW.stalls] * part, exact: part === 1 || (allMs > 0 && row[ROW.stalls] === row[ROW.dumps])};
}

// The newest version that carries a trend and those before, each with what their amounts are divided by: hours or, without any, all time.
const sideOf = (side) => ({set: new Set(side.map((v) => v[0])), whole: side.reduce((sum, v) => sum + (rated ? v[1] : v[3] || v[4]), 0)});
const carrying = data.versions.filter((v) => v[5]), newest = carrying.length ? carrying[carrying.length - 1][0] : undefined, after = sideOf(carrying.slice(-1)), before = sideOf(carrying.slice(0, -1));

// Returns how much more of a bucket there is in the newest version than in those before.
const growthOf = (entry) => (after.whole ? ofVersions(entry, after.set).ms / after.whole : 0) - (before.whole ? ofVersions(entry, before.set).ms / before.whole : 0);
const urgencyOf = (marks) => (marks & bitOf('ignored') ? -1 : URGENT.reduce((sum, bit, i) => sum + (marks & bit ? 2 ** (URGENT.length - i) : 0), 0));
const weightOf = (row) => row[data.by_stalls ? ROW.stalls : ROW.ms];
const KEYS = {
  rank: (e) => e.rank, title: (e) => e.title, cause: (e) => texts[e.row[ROW.cause]], ms: (e) => e.row[ROW.ms], share: (e) => weightOf(e.row), users: (e) => e.row[ROW.users],
  stalls: (e) => e.row[ROW.stalls], p50: (e) => e.row[ROW.p50], p95: (e) => e.row[ROW.p95], trend: growthOf, marks: (e) => urgencyOf(e.row[ROW.marks]) + (fatalOf(e) ? 0.5 : 0),
};

const isNumeric = (sort) => !['rank', 'title', 'cause'].includes(sort); // such an order has the most first

const orders = new Map([['false rank', entries]]); // key: an order that was used; value: all entries in that order

function inOrder() {
  const name = state.down + ' ' + state.sort, key = KEYS[state.sort], sign = state.down ? -1 : 1;
  if (!orders.has(name)) {
    orders.set(name, entries.map((e) => [key(e), e]).sort((a, b) => (a[0] === b[0] ? a[1].rank - b[1].rank : (a[0] < b[0] ? -sign : sign))).map((pair) => pair[1]));
  }
  return orders.get(name);
}

// ---- drawing ----

const more = make('button', {type: 'button'}, 'show more');
table.after(more);
const nearEnd = window.IntersectionObserver && new IntersectionObserver((seen) => { if (seen.some((s) => s.isIntersecting) && drawn < shown.length) { drawMore(); } }, {rootMargin: '600px'});

function drawMore(rows = PAGE_ROWS) {
  const weigh = (e) => (chosen ? (data.by_stalls ? e.own.stalls : e.own.ms) : weightOf(e.row));
  const next = shown.slice(drawn, drawn + rows), most = chosen ? Math.max(...shown.slice(0, 1000).map(weigh)) : entries.length ? weightOf(entries[0].row) : 0;
  for (const entry of next) {
    const step = most ? Math.min(Math.floor(weigh(entry) * 20 / most), 20) : 0;
    entry.tr.cells[3].className = step ? 's' + step : '';
    fillNumbers(entry);
  }
  body.append(...next.map((e) => e.tr));
  drawn += next.length;
  more.hidden = drawn >= shown.length;
  if (nearEnd) { // the observer reports an element only when it appears, so the button is observed again
    nearEnd.unobserve(more);
    nearEnd.observe(more);
  }
}

// Draws the rows. Rows that keep their place are not touched, so that they need no new layout.
function draw() {
  inside.remove();
  drawn = 0;
  while (!chosen && drawn < FIRST_ROWS && drawn < shown.length && !shown[drawn].all && body.rows[drawn] === shown[drawn].tr) { drawn++; }
  if (body.rows.length > drawn) {
    const behind = document.createRange();
    behind.setStartBefore(body.rows[drawn]);
    behind.setEndAfter(body.lastChild);
    behind.deleteContents();
  }
  drawMore(Math.max(FIRST_ROWS - drawn, 0));
  for (const th of table.tHead.rows[0].cells) {
    th.removeAttribute('aria-sort');
    if (th.dataset.sort === state.sort && (state.sort !== 'rank' || state.down)) { th.setAttribute('aria-sort', state.down ? 'descending' : 'ascending'); }
  }
  if (opened) { showInside(); }
}

function say(text, bad) {
  status.textContent = text;
  status.classList.toggle('bad', Boolean(bad));
  filter.setAttribute('aria-invalid', String(Boolean(bad)));
}

const seconds = (ms) => (ms < 1000 ? ms + 'ms' : ms < 60000 ? (ms / 1000).toFixed(1) + 's' : ms < 3600000 ? Math.floor(ms / 60000) + 'm' + String(Math.floor(ms / 1000) % 60).padStart(2, '0') + 's'
  : Math.floor(ms / 3600000) + 'h' + String(Math.floor(ms / 60000) % 60).padStart(2, '0') + 'm');

// ---- the numbers of chosen versions ----

let chosen = null; // the versions that the filter and the facets choose, as a Set of numbers of texts; null = all
const OWN = {0: 'rank', 3: 'lost', 4: 'share', 6: 'stalls'}; // cells that show numbers of the chosen versions

function chooseVersions() {
  const tests = asked.filter((term) => term.field === 'version' && !term.op.startsWith('!') && term.value !== '').map(testOf), facet = state.facets.version;
  if (!tests.length && !facet) { return null; }
  return new Set([...versions.keys()].filter((v) => (!facet || facet.includes(texts[v])) && tests.every((test) => test(texts[v]))));
}

// Gives each shown entry the numbers of the chosen versions, and puts them in the order of the lost time there unless another one was asked for.
function narrow() {
  chosen = chooseVersions();
  if (!chosen) { return; }
  for (const entry of shown) { entry.own = ofVersions(entry, chosen); }
  const weigh = (e) => (data.by_stalls ? e.own.stalls : e.own.ms), ranked = [...shown].sort((a, b) => weigh(b) - weigh(a) || a.rank - b.rank);
  ranked.forEach((entry, i) => { entry.own.rank = i + 1; });
  const sorts = {rank: (e) => e.own.rank, ms: (e) => e.own.ms, share: weigh, stalls: (e) => e.own.stalls}, key = sorts[state.sort];
  if (key) { shown = ranked.sort((a, b) => (state.down ? key(b) - key(a) : key(a) - key(b)) || a.own.rank - b.own.rank); }
}

// Returns the sum over the chosen versions, or over all, by which shares are computed.
const wholeOf = () => (chosen ? [...chosen].reduce((sum, v) => sum + (data.by_stalls ? versions.get(v).stalls : versions.get(v).ms), 0) : data.total);

function fillNumbers(entry) {
  const cells = entry.tr.cells;
  if (chosen) {
    const own = entry.own, whole = wholeOf(), about = own.exact ? '' : '~', texts = [String(own.rank), own.ms ? about + seconds(Math.round(own.ms)) : '\u2013',
      (whole ? (data.by_stalls ? own.stalls : own.ms) / whole * 100 : 0).toFixed(1) + '%', about + Math.round(own.stalls).toLocaleString('en')];
    entry.all ??= Object.keys(OWN).map((i) => cells[i].textContent);
    Object.keys(OWN).forEach((i, k) => { cells[i].textContent = texts[k]; });
  } else if (entry.all) {
    Object.keys(OWN).forEach((i, k) => { cells[i].textContent = entry.all[k]; });
    entry.all = undefined;
  }
}

// Does the filter name another property of dumps? A bucket may have dumps with that property and dumps without it.
const isPartial = () => Object.keys(state.facets).some((facet) => ['os', 'device', 'screen', 'action'].includes(facet)) || asked.some((term) => ['os', 'device', 'screen', 'action'].includes(term.field));

function sayCount() {
  const ms = shown.reduce((sum, e) => sum + (chosen ? e.own.ms : e.row[ROW.ms]), 0), weight = shown.reduce((sum, e) => sum + (data.by_stalls ? (chosen ? e.own.stalls : e.row[ROW.stalls]) : chosen ? e.own.ms : e.row[ROW.ms]), 0);
  const whole = wholeOf(), about = chosen && shown.some((e) => !e.own.exact) ? '~' : '', share = about + (whole ? Math.min(weight / whole * 100, 100) : 0).toFixed(1), names = chosen ? [...chosen].map((v) => texts[v]).join(', ').slice(0, 60) : '';
  say(shown.length.toLocaleString('en') + ' of ' + entries.length.toLocaleString('en') + ' buckets, ' + (ms ? about + seconds(Math.round(ms)) + ' lost, ' : '') + share + (data.by_stalls ? '% of all stalls' : '% of all')
    + (chosen ? ' in ' + names + '; rank, lost, share and stalls are of ' + names + ' alone, users, p50, p95 and fatal of all versions' : '') + (isPartial() ? '; the numbers are of all dumps of a bucket' : ''));
  document.body.classList.toggle('narrowed', Boolean(chosen));
}

// ---- filter ----

const filter = make('input', {type: 'search', 'aria-label': 'filter', placeholder: 'filter: words, or terms as of --where: cause=lock app.version>=5.3 title~Cart   ( / )', spellcheck: 'false', autocomplete: 'off'});

function matchesFacets(entry) {
  return Object.keys(state.facets).every((facet) => valuesOf(entry, facet).some((v) => state.facets[facet].includes(v)));
}

async function apply() {
  const mine = ++run;
  try {
    const terms = parseTerms(state.q);
    if (terms.some((t) => t.op.endsWith('~'))) { await searchAll(terms, entries); }
    if (mine !== run) { return; } // a later call of apply() is running
    asked = terms;
    const tests = terms.map(predicateOf);
    if (Object.keys(state.facets).length) { tests.push(matchesFacets); }
    shown = inOrder().filter((entry) => tests.every((test) => test(entry)));
    narrow();
    draw();
    sayCount();
  } catch (e) {
    if (mine === run) {
      chosen = null;
      shown = []; // the rows of the previous filter must not stay
      draw();
      say(e.message, true);
    }
  }
  if (mine === run) { document.documentElement.dataset.applied = state.q; } // tests wait for this attribute
}

// ---- facets ----

const facetNodes = new Map();

function facetValues(facet) {
  const sums = new Map();
  for (const entry of entries) {
    for (const value of valuesOf(entry, facet)) {
      const sum = sums.get(value) || [0, 0];
      sums.set(value, [sum[0] + 1, sum[1] + weightOf(entry.row)]);
    }
  }
  return [...sums].sort((a, b) => (facet === 'version' ? compareVersions(b[0], a[0]) : b[1][1] - a[1][1] || compareVersions(a[0], b[0])));
}

function toggle(facet, value, on) {
  const values = (state.facets[facet] || []).filter((v) => v !== value);
  if (on) { values.push(value); }
  if (values.length) { state.facets[facet] = values; } else { delete state.facets[facet]; }
  showFacets();
  write();
  apply();
}

function fillFacet(facet, list) {
  const values = facetValues(facet);
  list.replaceChildren(...values.slice(0, FACET_VALUES).map(([value, sum]) => {
    const box = make('input', {type: 'checkbox'});
    box.checked = (state.facets[facet] || []).includes(value);
    box.addEventListener('change', () => toggle(facet, value, box.checked));
    return make('label', {title: value}, box, ' ' + value + ' ', make('small', {}, sum[0] + (sum[0] === 1 ? ' bucket' : ' buckets')));
  }));
  if (values.length > FACET_VALUES) { list.append(make('small', {}, (values.length - FACET_VALUES) + ' more: use the filter')); }
}

function showFacets() {
  for (const [facet, node] of facetNodes) {
    const used = state.facets[facet];
    node.classList.toggle('used', Boolean(used));
    node.firstChild.textContent = FACETS[facet] + (used ? ': ' + used.join(', ').slice(0, 40) : '');
    if (node.open) { fillFacet(facet, node.lastChild); }
  }
  clear.hidden = !state.q && !Object.keys(state.facets).length;
  sorts.value = state.sort;
}

for (const facet of Object.keys(FACETS)) {
  if (LISTS.includes(facet) ? !known.get(facet).size : facet !== 'cause' && !data.rows.some((row) => row[ROW.marks])) { continue; }
  const list = make('div', {role: 'group', 'aria-label': FACETS[facet]}), node = make('details', {class: 'facet'}, make('summary', {}, FACETS[facet]), list);
  node.addEventListener('toggle', () => {
    if (!node.open) { return; }
    fillFacet(facet, list);
    list.classList.remove('at-end');
    list.classList.toggle('at-end', list.getBoundingClientRect().right > innerWidth);
    for (const other of facetNodes.values()) { other.open = other === node; }
  });
  facetNodes.set(facet, node);
}
document.addEventListener('click', (event) => {
  for (const node of facetNodes.values()) { if (!node.contains(event.target)) { node.open = false; } }
});

const clear = make('button', {type: 'button'}, 'clear'), help = make('button', {type: 'button', 'aria-label': 'help'}, '?');
clear.addEventListener('click', () => {
  state.q = filter.value = '';
  state.facets = {};
  showFacets();
  write();
  apply();
});
const worst = make('button', {type: 'button', title: 'only the numbers of the newest version with enough data'}, 'worst in ' + texts[newest]);
worst.addEventListener('click', () => {
  state = {q: '', sort: 'rank', down: false, open: state.open, facets: {version: [texts[newest]]}};
  filter.value = '';
  showFacets();
  write();
  apply();
});
worst.hidden = newest === undefined || versions.size < 2;
// On a narrow screen, where the table has no head, a list has the orders.
const sorts = make('select', {id: 'sorts', 'aria-label': 'order'}, ...Array.from(table.tHead.rows[0].cells, (th) => make('option', {value: th.dataset.sort}, 'by ' + (th.dataset.sort === 'rank' ? 'rank' : th.textContent))));
sorts.addEventListener('change', () => {
  state.sort = sorts.value;
  state.down = isNumeric(state.sort);
  write();
  apply();
});
tools.append(filter, ...facetNodes.values(), sorts, worst, clear, help);
tools.hidden = false;
function typed() {
  if (state.q === filter.value) { return; }
  state.q = filter.value;
  clear.hidden = !state.q && !Object.keys(state.facets).length;
  write();
  apply();
}
filter.addEventListener('input', typed);
filter.addEventListener('search', typed); // the browser reports that the box was emptied

// ---- buckets that are open ----

const inside = make('tr', {class: 'inside'}, make('td', {colspan: String(table.tHead.rows[0].cells.length)}));

function commandsOf(entry) {
  const inputs = texts[data.inputs], db = texts[data.history];
  return make('div', {id: entry.id}, make('p', {class: 'more'}, 'Only the first ' + details.size + ' buckets are in detail. These show more of it:'),
    ...(inputs ? ['--explain ' + entry.id + ' ' + inputs, '--annotate --where level1=' + entry.id + ' ' + inputs] : ['--history ' + db + ' --explain ' + entry.id, '--history ' + db + ' -F html --detail ' + (entry.rank + 1) + ' -o report.html']).map((line) => make('pre', {class: 'paste'}, 'stallclassify ' + line)),
    db ? make('pre', {class: 'paste'}, 'stallclassify --history ' + db + ' --mark ' + entry.id + ' owner=NAME fixed-in=VERSION note=TEXT') : '',
    ...Object.keys(FACETS).map((facet) => {
      const values = valuesOf(entry, facet);
      return values.length ? make('p', {}, make('small', {}, FACETS[facet] + ': '), values.slice(0, 12).join(', ')) : '';
    }));
}

function showInside() {
  const at = shown.indexOf(opened);
  while (at >= drawn && drawn < shown.length) { drawMore(); }
  if (at >= 0) { opened.tr.after(inside); } else { inside.remove(); }
}

function open(entry) {
  if (opened) {
    opened.tr.classList.remove('opened');
    opened.tr.setAttribute('aria-expanded', 'false');
  }
  inside.remove();
  opened = entry;
  state.open = entry ? entry.id : '';
  if (entry) {
    const content = details.get(entry.rank) || commandsOf(entry);
    inside.cells[0].replaceChildren(content);
    entry.tr.classList.add('opened');
    entry.tr.setAttribute('aria-expanded', 'true');
    showInside();
    for (const node of content.querySelectorAll('.dumps')) { showDumps(node, entry.id); }
  }
  write();
}

function focus(entry) {
  if (focused) { focused.tr.tabIndex = -1; }
  focused = entry;
  entry.tr.tabIndex = 0;
  entry.tr.focus({preventScroll: true});
  entry.tr.scrollIntoView({block: 'nearest'});
}

body.addEventListener('click', (event) => {
  const tr = event.target.closest('tr');
  if (!tr || tr === inside || (event.target.closest('i') && String(getSelection()))) { return; }
  const entry = entryOfRow.get(tr);
  event.preventDefault();
  open(opened === entry ? null : entry);
  focus(entry);
});

for (const th of table.tHead.rows[0].cells) {
  const button = make('button', {type: 'button', title: th.title}, th.textContent);
  th.addEventListener('click', () => {
    state.down = state.sort === th.dataset.sort ? !state.down : isNumeric(th.dataset.sort);
    state.sort = th.dataset.sort;
    write();
    apply();
  });
  th.replaceChildren(button);
}

more.addEventListener('click', () => drawMore());
window.addEventListener('beforeprint', () => drawMore(shown.length));

// ---- the fragment ----

function write() {
  const parts = [];
  if (state.open) { parts.push('b=' + state.open); }
  if (state.q) { parts.push('q=' + encodeURIComponent(state.q)); }
  if (state.sort !== 'rank' || state.down) { parts.push('sort=' + (state.down ? '-' : '') + state.sort); }
  for (const facet of Object.keys(state.facets)) { parts.push(facet + '=' + state.facets[facet].map(encodeURIComponent).join(',')); }
  written = parts.length ? '#' + parts.join('&') : '';
  history.replaceState(null, '', written || location.pathname + location.search);
}

function decode(text) {
  try { return decodeURIComponent(text); } catch (e) { return text; }
}

function read() {
  const hash = location.hash.slice(1);
  state = {q: '', sort: 'rank', down: false, open: '', facets: {}};
  if (byId.has(hash)) {
    state.open = hash;
  } else {
    for (const part of hash.split('&')) {
      const at = part.indexOf('='), name = part.slice(0, at), value = part.slice(at + 1);
      if (name === 'b') { state.open = value; }
      if (name === 'q') { state.q = decode(value); }
      if (name === 'sort') {
        state.down = value.startsWith('-');
        state.sort = KEYS[value.replace(/^-/, '')] ? value.replace(/^-/, '') : 'rank';
      }
      if (facetNodes.has(name)) { state.facets[name] = value.split(',').map(decode); }
    }
  }
  filter.value = state.q;
  showFacets();
}

async function restore() {
  read();
  const entry = byId.get(state.open);
  await apply();
  document.documentElement.dataset.ready = 'yes'; // the rows are in the document now, so that the page can scroll to them
  open(entry || null);
  if (entry) {
    focus(entry);
    entry.tr.scrollIntoView({block: 'start'});
  }
}
