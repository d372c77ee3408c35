// Terms of a filter, in the syntax of stallclassify --where. A term holds for a bucket if it holds for one of the values that the bucket's
// dumps have. A term with != or !~ must hold for all of these values.

const data = JSON.parse(document.getElementById('data').textContent);
const texts = document.getElementById('texts').content.textContent.split('\n');
for (const list of [data.rows, data.versions, data.stacks, data.frames]) { list.pop(); } // each of these arrays ends with an unused 0
const REGEX_MS = 200;

// Members of a row, in the order in which they were written.
const ROW = {ms: 0, users: 1, stalls: 2, p50: 3, p95: 4, dumps: 5, marks: 6, cause: 7, version: 8, os: 9, device: 10, screen: 11, action: 12, framework: 13, owner: 14};
for (const row of data.rows) { // a facet without values is 0, or missing at the end of the row; one value is its number plus 1
  for (let i = ROW.version; i <= ROW.owner; i++) {
    const value = row[i];
    if (!Array.isArray(value)) { row[i] = value ? [value - 1] : []; }
  }
}
const MARKS = ['new', 'worse', 'better', 'back', 'ignored', 'may be worse', 'new inside', 'worse inside', 'fixed', 'seen again']; // in the order of the bits
const bitOf = (mark) => 1 << MARKS.indexOf(mark);
// What most needs a look comes first: the order of the column of marks, and the one state of each bucket.
const URGENT = ['back', 'new', 'worse', 'new inside', 'worse inside', 'may be worse', 'seen again', 'fixed', 'better'].map(bitOf);
const STATES = ['ignored', 'back', 'seen again', 'fixed', 'new'];
const stateOf = (marks) => STATES.find((state) => marks & bitOf(state)) ?? 'open';
// The fields that a filter can name, with the member of a row that has the value; 'id' and 'title' are in the table instead.
const FIELDS = {
  'app.version': 'version', 'device.os': 'os', 'device.model': 'device', 'context.screen': 'screen', cause: 'cause', action: 'action', framework: 'framework',
  mark: 'marks', state: 'state', owner: 'owner', fatal: 'fatal', level1: 'id', title: 'title', stalled_ms: 'ms', users: 'users', stalls: 'stalls', dumps: 'dumps', p50_ms: 'p50', p95_ms: 'p95',
};
const NUMBERS = ['ms', 'users', 'stalls', 'dumps', 'p50', 'p95', 'fatal'];
const LISTS = ['version', 'os', 'device', 'screen', 'action', 'framework', 'owner'];
const known = new Map(LISTS.map((field) => [field, new Set(data.rows.flatMap((row) => row[ROW[field]]))])); // field -> its values, as numbers of texts
const fatalOf = (entry) => (data.parts[entry.rank] || [0])[0];

const isDigit = (c) => c >= '0' && c <= '9';

// Compares versions in their natural order, in which runs of digits are numbers of any length. 0: the numbers are equal, though their
// digits may differ.
function versionOrder(a, b) {
  let i = 0, k = 0;
  while (i < a.length && k < b.length) {
    if (isDigit(a[i]) && isDigit(b[k])) {
      let x = i, y = k;
      while (isDigit(a[x] || '')) { x++; }
      while (isDigit(b[y] || '')) { y++; }
      const m = a.slice(i, x).replace(/^0+(?=\d)/, ''), n = b.slice(k, y).replace(/^0+(?=\d)/, '');
      if (m !== n) { return m.length !== n.length ? m.length - n.length : (m < n ? -1 : 1); }
      i = x;
      k = y;
    } else if (a[i] !== b[k]) {
      return a[i] < b[k] ? -1 : 1;
    } else {
      i++;
      k++;
    }
  }
  return (a.length - i) - (b.length - k);
}

// The same as a total order, to sort by.
const compareVersions = (a, b) => versionOrder(a, b) || (a < b ? -1 : Number(a > b));

const beforeDigits = (s) => /^[^0-9]*/.exec(s)[0];

function isInOrder(value, op, than) {
  if (beforeDigits(value) !== beforeDigits(than)) { return false; }
  const order = versionOrder(value, than);
  return {'<': order < 0, '<=': order <= 0, '>': order > 0, '>=': order >= 0}[op];
}

// Throws an error if no bucket of any page of these data could hold the term: it would only seem that there are none.
function checkTerm(term, name) {
  const ordered = ['<', '<=', '>', '>='].includes(term.op);
  if (NUMBERS.includes(term.field)) {
    if (!/^\d{1,15}$/.test(term.value) && !term.op.endsWith('~')) { throw new Error(name + ' is a number, not "' + term.value + '"'); }
    return;
  }
  if (term.field === 'state' && ['=', '!='].includes(term.op) && ![...STATES, 'open'].includes(term.value)) { throw new Error('state is one of ' + [...STATES, 'open'].join(', ')); }
  if (!LISTS.includes(term.field) || term.value === '') { return; }
  const values = [...known.get(term.field)];
  if (!values.length) { throw new Error('the data of this page have no ' + name + (term.field === 'screen' ? ': a history keeps it only in stored dumps' : '')); }
  if (ordered && !values.some((i) => beforeDigits(texts[i]) === beforeDigits(term.value))) {
    throw new Error('no ' + name + ' can be compared with "' + term.value + '": write, for example, ' + name + term.op + JSON.stringify(texts[values[0]]));
  }
}

// Parses a filter and returns [{field, op, value}]; throws an Error that says what is wrong with the text.
function parseTerms(text) {
  const terms = [], word = /\s*(?:([A-Za-z_][\w.]*)\s*(!=|!~|<=|>=|<|>|=|~)("(?:\\.|[^"\\])*"|[^\s"]*)|("(?:\\.|[^"\\])*"|\S+))/gy;
  while (word.lastIndex < text.trimEnd().length) {
    const at = word.lastIndex, found = word.exec(text);
    if (!found) { throw new Error('what begins at "' + text.slice(at, at + 12) + '" is no term'); }
    const [, field, op, quoted, loose] = found, raw = loose === undefined ? quoted : loose;
    const value = raw.startsWith('"') ? raw.slice(1, -1).replace(/\\(["\\])/g, '$1') : raw;
    if (loose === undefined && !FIELDS[field]) {
      throw new Error(/^(context\.|stall\.|user$|app\.|device\.|id$|time$|truth$|confidence$|level2$)/.test(field)
        ? 'the page does not have ' + field + ' of each dump: stallclassify --where does' : 'there is no field ' + field);
    }
    const term = loose === undefined ? {field: FIELDS[field], op, value} : {field: 'title', op: 'has', value: value.toLowerCase()};
    if (loose === undefined) { checkTerm(term, field); }
    terms.push(term);
  }
  return terms;
}

// Returns the values that a row has for a field, as texts.
function valuesOf(entry, field) {
  if (field === 'id' || field === 'title') { return [entry[field]]; }
  const value = field === 'fatal' ? fatalOf(entry) : entry.row[ROW[field === 'state' ? 'marks' : field]];
  if (field === 'state') { return [stateOf(value)]; }
  if (field === 'marks') { return MARKS.filter((word, i) => value & 1 << i); }
  if (field === 'cause') { return [texts[value]]; }
  return NUMBERS.includes(field) ? [String(value)] : value.map((i) => texts[i]);
}

// Returns the test that a term makes on one value of its field. For != and !~ it is the test that must fail on every value.
function testOf(term) {
  const number = NUMBERS.includes(term.field) && /^(0|[1-9]\d{0,14})$/.test(term.value) ? Number(term.value) : undefined;
  switch (term.op) {
  case 'has': return (v) => v.toLowerCase().includes(term.value);
  case '=': case '!=': return (v) => v === term.value;
  case '~': case '!~': return (v) => term.found.has(v);
  case '<': return number === undefined ? (v) => isInOrder(v, '<', term.value) : (v) => Number(v) < number;
  case '<=': return number === undefined ? (v) => isInOrder(v, '<=', term.value) : (v) => Number(v) <= number;
  case '>': return number === undefined ? (v) => isInOrder(v, '>', term.value) : (v) => Number(v) > number;
  default: return number === undefined ? (v) => isInOrder(v, '>=', term.value) : (v) => Number(v) >= number;
  }
}

// Returns a function that tells whether the term holds for an entry. A text that many entries share is tested only once.
function predicateOf(term) {
  const negative = term.op.startsWith('!'), at = ROW[term.field], test = testOf(term);
  if (term.value === '' && (term.op === '=' || term.op === '!=')) { return (e) => valuesOf(e, term.field).some((v) => v !== '') === negative; }
  if (term.op === 'has') { // the term is a word without a field
    return (e) => (e.lower ??= e.title.toLowerCase()).includes(term.value) || e.id.startsWith(term.value)
      || [...valuesOf(e, 'cause'), ...valuesOf(e, 'marks'), valuesOf(e, 'state')[0], fatalOf(e) ? 'fatal' : ''].some((v) => v.toLowerCase() === term.value);
  }
  if (term.field !== 'cause' && !LISTS.includes(term.field)) {
    return (e) => valuesOf(e, term.field).some((v) => v !== '' && test(v)) !== negative;
  }
  const said = [];
  const holds = (i) => (said[i] ??= texts[i] !== '' && test(texts[i]));
  return term.field === 'cause' ? (e) => holds(e.row[at]) !== negative : (e) => e.row[at].some(holds) !== negative;
}

// ---- regular expressions: in a worker, which is ended when it takes too long ----

// Converts POSIX's extended regular expressions to JavaScript's. Only character classes in brackets differ.
const CLASSES = {alpha: 'A-Za-z', digit: '0-9', alnum: 'A-Za-z0-9', upper: 'A-Z', lower: 'a-z', space: '\\s', punct: '!-\\/:-@\\[-`{-~', xdigit: '0-9A-Fa-f', blank: ' \\t'};
const fromPosix = (pattern) => pattern.replace(/\[:(\w+):\]/g, (whole, name) => CLASSES[name] || whole);

const WORKER = 'postMessage(null); onmessage = (m) => { const r = new RegExp(m.data[0]); postMessage(m.data[1].filter((t) => r.test(t))); };';
const searched = new Map(); // results of earlier searches

function findAll(pattern, values) {
  return new Promise((resolve, reject) => {
    const url = URL.createObjectURL(new Blob([WORKER], {type: 'text/javascript'}));
    const worker = new Worker(url);
    const end = (then, value) => {
      clearTimeout(timer);
      worker.terminate();
      URL.revokeObjectURL(url);
      then(value);
    };
    let timer;
    worker.onmessage = (m) => {
      if (m.data) {
        end(resolve, new Set(m.data));
      } else { // the worker reports that it has started
        timer = setTimeout(() => end(reject, new Error('the regular expression took longer than ' + REGEX_MS + ' ms and was ended')), REGEX_MS);
        worker.postMessage([pattern, values]);
      }
    };
    worker.onerror = (e) => { e.preventDefault(); end(reject, new Error('the regular expression could not be run')); };
  });
}

async function searchAll(terms, entries) {
  for (const term of terms.filter((t) => t.op.endsWith('~'))) {
    const pattern = fromPosix(term.value), key = term.field + ' ' + pattern;
    try { new RegExp(pattern); } catch (e) { throw new Error('"' + term.value + '" is no regular expression'); }
    if (!searched.has(key)) {
      const values = new Set();
      for (const entry of entries) { valuesOf(entry, term.field).forEach((v) => values.add(v)); }
      searched.set(key, await findAll(pattern, [...values]));
    }
    term.found = searched.get(key);
  }
}
