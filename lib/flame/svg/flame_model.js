/* The data of the picture: its frames, as arrays in pre-order (a frame, then all frames above it).
 *
 * The files flame_*.js become one function in the SVG, in the order of svg.c. Everything is read from
 * the drawn frames: a rectangle's y is the depth, data-w the exact weight, <title> the full text. Names
 * are only ever handled as text, so no name can become markup. One listener serves all frames. */
const SVG = 'http://www.w3.org/2000/svg';
const HTML = 'http://www.w3.org/1999/xhtml';
const script = document.currentScript;
const svg = (script && script.ownerSVGElement) || document.documentElement;
const whole = svg === document.documentElement; // the picture is a document, not a part of a page
const find = (id) => svg.querySelector('#' + id);
const setting = (key) => Number(svg.dataset[key]);
const group = find('frames');
const head = find('head');
const foot = find('foot');
const ROW = setting('row'), HEAD = setting('head'), FOOT = setting('foot'), MARGIN = setting('margin');
const UNIT = svg.dataset.unit, DECIMALS = setting('decimals');

const elements = Array.from(group.children);
const rects = elements.map((g) => g.querySelector('rect'));
const labels = elements.map((g) => g.querySelector('text'));

/* The lines of a frame's <title>: the name, "in MODULE" with marks such as inlined, the amount, notes.
 * They are read when they are first needed, because most frames have no room for a name. */
const titles = new Array(elements.length);
function linesOf(id) {
  if (!titles[id]) {
    titles[id] = elements[id].querySelector('title').textContent.split('\n');
  }
  return titles[id];
}
const isRest = (id) => elements[id].classList.contains('rest');
const nameOf = (id) => linesOf(id)[0];
const labelOf = (id) => (isRest(id) ? '…' : linesOf(id)[0]);
// Returns the module and the marks of a frame, such as "in libc.so · inlined"; '' = it has none.
const placeOf = (id) => (linesOf(id).length > 2 && !/ · [\d.]+ %| under 0/.test(linesOf(id)[1]) ? linesOf(id)[1] : '');
const moduleOf = (id) => (placeOf(id).startsWith('in ') ? placeOf(id).slice(3).split(' · ')[0] : '');
// Returns a text that is equal for all frames of one function.
const keyOf = (id) => nameOf(id) + (placeOf(id) && '\n' + placeOf(id));
const notesOf = (id) => linesOf(id).slice(placeOf(id) ? 3 : 2);

/* A model has the places of frames. ids are indexes of elements; the other arrays have the model's own
 * index. */
function newModel(count) {
  return {
    ids: new Int32Array(count), indexOf: new Int32Array(elements.length).fill(-1), count: 0, rows: 0,
    weight: new Float64Array(count), start: new Float64Array(count), self: new Float64Array(count),
    depth: new Int32Array(count), end: new Int32Array(count), parent: new Int32Array(count),
  };
}

function addToModel(m, id, weight, start, depth, parent) {
  const i = m.count++;
  m.ids[i] = id;
  m.indexOf[id] = i;
  m.weight[i] = m.self[i] = weight;
  m.start[i] = start;
  m.depth[i] = depth;
  m.parent[i] = parent;
  if (parent >= 0) { m.self[parent] -= weight; }
  m.rows = Math.max(m.rows, depth + 1);
  return i;
}

/* Returns the model of the picture as it was drawn. */
function readModel() {
  const m = newModel(elements.length);
  const icicle = svg.classList.contains('icicle'), deepest = setting('depth');
  const next = [0]; // where the next child of the open frame of each depth starts
  const open = [];
  for (let id = 0; id < elements.length; id++) {
    const data = elements[id].dataset;
    elements[id].flameId = id;
    const row = Math.round((Number(rects[id].getAttribute('y')) - HEAD) / ROW);
    const depth = icicle ? row : deepest - row;
    while (open.length > depth) { m.end[open.pop()] = id; }
    const start = data.x === undefined ? next[depth] : Number(data.x);
    const weight = Number(data.w);
    open.push(addToModel(m, id, weight, start, depth, open.length ? open[open.length - 1] : -1));
    next[depth] = start + weight;
    next[depth + 1] = start;
  }
  while (open.length) { m.end[open.pop()] = m.count; }
  return m;
}

/* Returns a model of all frames above any frame of a function: equal frames with equal callers become
 * one frame. */
function mergeModel(m, wanted) {
  const key = (i) => keyOf(m.ids[i]);
  const from = [];
  for (let i = 0; i < m.count; i++) {
    if (key(i) === wanted) {
      from.push(i);
      i = m.end[i] - 1;
    }
  }
  const out = newModel(m.count);
  const sum = (frames) => frames.reduce((w, i) => w + m.weight[i], 0);
  const place = (frames, start, depth, parent) => {
    const at = addToModel(out, m.ids[frames[0]], sum(frames), start, depth, parent);
    const children = new Map();
    for (const i of frames) {
      for (let c = i + 1; c < m.end[i]; c = m.end[c]) {
        const k = isRest(m.ids[c]) ? '…' : key(c);
        if (children.has(k)) { children.get(k).push(c); } else { children.set(k, [c]); }
      }
    }
    for (const same of children.values()) {
      place(same, start, depth + 1, at);
      start += sum(same);
    }
    out.end[at] = out.count;
  };
  if (from.length) { place(from, 0, 0, -1); }
  return from.length ? out : null;
}

const drawn = readModel();
let model = drawn;
