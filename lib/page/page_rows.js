// Sorts and filters the table, and opens buckets in it. The order, the filter and the open bucket are kept in the URL's fragment.

const FIRST_ROWS = 40, PAGE_ROWS = 100; // rows in the document at first, and rows that are added each time the reader scrolls to the end
const FACETS = {version: 'version', os: 'system', device: 'device', cause: 'cause', framework: 'framework', screen: 'screen', action: 'action', owner: 'owner'};
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

const versionRank = new Map([...new Set(data.rows.flatMap((row) => row[ROW.version]))].sort((a, b) => compareVersions(texts[a], texts[b])).map((v, i) => [v, i]));
const sinceOf = (row) => row[ROW.version].reduce((least, v) => Math.min(least, versionRank.get(v)), Infinity);
const weightOf = (row) => row[data.by_stalls ? ROW.stalls : ROW.ms];
const KEYS = {
  rank: (e) => e.rank, title: (e) => e.title, cause: (e) => texts[e.row[ROW.cause]], ms: (e) => e.row[ROW.ms], share: (e) => weightOf(e.row), users: (e) => e.row[ROW.users],
  stalls: (e) => e.row[ROW.stalls], p50: (e) => e.row[ROW.p50], p95: (e) => e.row[ROW.p95], trend: (e) => sinceOf(e.row), marks: (e) => e.row[ROW.marks],
};

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
  const next = shown.slice(drawn, drawn + rows), most = entries.length ? weightOf(entries[0].row) : 0;
  for (const entry of next) {
    const step = most ? Math.floor(weightOf(entry.row) * 20 / most) : 0;
    if (step) { entry.tr.cells[3].className = 's' + step; }
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
  while (drawn < FIRST_ROWS && drawn < shown.length && body.rows[drawn] === shown[drawn].tr) { drawn++; }
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

// Does the filter name a property of dumps? A bucket may have dumps with that property and dumps without it.
const isPartial = () => Object.keys(state.facets).length > 0 || asked.some((term) => ['version', 'os', 'device', 'screen', 'action'].includes(term.field));

function sayCount() {
  const ms = shown.reduce((sum, e) => sum + e.row[ROW.ms], 0), weight = shown.reduce((sum, e) => sum + weightOf(e.row), 0);
  const share = data.total ? (weight / data.total * 100).toFixed(1) : '0.0';
  say(shown.length.toLocaleString('en') + ' of ' + entries.length.toLocaleString('en') + ' buckets, ' + (ms ? seconds(ms) + ' lost, ' : '') + share + (data.by_stalls ? '% of all stalls' : '% of all')
    + (isPartial() ? '; the numbers are of all dumps of a bucket' : ''));
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
    draw();
    sayCount();
  } catch (e) {
    if (mine === run) {
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
}

for (const facet of Object.keys(FACETS)) {
  if (!data.rows.some((row) => facet === 'cause' || row[ROW[facet]].length)) { continue; }
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
tools.append(filter, ...facetNodes.values(), clear, help);
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
  const inputs = texts[data.inputs];
  return make('div', {id: entry.id}, make('p', {class: 'more'}, 'Only the first ' + details.size + ' buckets are in detail. These show more of it:'),
    make('pre', {class: 'paste'}, 'stallclassify --explain ' + entry.id + ' ' + inputs),
    make('pre', {class: 'paste'}, 'stallclassify --annotate --where level1=' + entry.id + ' ' + inputs),
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
    const numeric = !['rank', 'title', 'cause'].includes(th.dataset.sort);
    state.down = state.sort === th.dataset.sort ? !state.down : numeric;
    state.sort = th.dataset.sort;
    write();
    apply();
  });
  th.replaceChildren(button);
}

more.addEventListener('click', () => drawMore());

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
