/* Draws the frames, with zoom, focus, direction and dark colours. */
const TEXT_LEFT = 5, LABEL_LEAST = 2, THIN = 2; // the same values as in svg_frame.c

const view = {
  top: 0,       // the frame that fills the width
  focus: '',    // the function whose frames are shown merged; '' = the picture as it was drawn
  icicle: svg.classList.contains('icicle'),
  dark: null,   // true, false, or null = as the reader's system prefers
};
let width = 0;  // width of the frames, in pixels
let cell = 7;   // width of a character, in pixels
let below = 0;  // pixels by which the toolbar moves the frames down

const px = (v) => String(Math.round(v * 100) / 100);

function measure() {
  const probe = document.createElementNS(SVG, 'text');
  probe.textContent = 'm'.repeat(100);
  probe.setAttribute('visibility', 'hidden');
  group.appendChild(probe);
  const length = probe.getComputedTextLength();
  probe.remove();
  if (length > 0) { cell = length / 100; }
}

// --- labels, as label.c does it --------------------------------------------------------------

const isWide = (c) => (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
  (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
  (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
const cellsOf = (text) => {
  let cells = 0;
  for (const c of text) { cells += isWide(c.codePointAt(0)) ? 2 : 1; }
  return cells;
};

function firstCells(text, cells) {
  let out = '';
  for (const c of text) {
    cells -= isWide(c.codePointAt(0)) ? 2 : 1;
    if (cells < 0) { break; }
    out += c;
  }
  return out;
}

function lastCells(text, cells) {
  let all = cellsOf(text), out = text;
  for (const c of text) {
    if (all <= cells) { break; }
    all -= isWide(c.codePointAt(0)) ? 2 : 1;
    out = out.slice(c.length);
  }
  return out;
}

// Returns the index at which the last part of a name begins: after the last scope that is outside of all brackets.
function lastPart(s) {
  if (/^[-+]\[./.test(s)) { return s.indexOf(' ') + 1; }
  let part = 0, depth = 0;
  for (let i = 0; i + 1 < s.length; i++) {
    if ('(<[{'.includes(s[i])) {
      depth++;
    } else if (depth > 0 && ')>]}'.includes(s[i])) {
      depth--;
    } else if (depth === 0 && i > 0 && ((s[i] === ':' && s[i - 1] === ':') || s[i] === '.' || s[i] === '/')) {
      part = i + 1;
    }
  }
  return part;
}

function beforeBrackets(part) {
  let at = part.indexOf('(');
  if (at >= 0 && part.slice(0, at).endsWith('operator') && part[at + 1] === ')') { at = part.indexOf('(', at + 1); }
  return at > 0 ? at : part.length;
}

function shorten(name, cells) {
  if (cells < LABEL_LEAST && name !== '…') { return ''; }
  if (cells < 1) { return ''; }
  if (name.length > 4 * cells + 4096) { name = name.slice(-4 * cells - 4096); }
  if (cellsOf(name) <= cells) { return name; }
  const part = lastPart(name), last = name.slice(part);
  if (part > 0 && cellsOf(last) < cells) { return '…' + lastCells(name, cells - 1); }
  const word = last.slice(0, beforeBrackets(last)), wordCells = cellsOf(word);
  if (word.length < last.length && wordCells + 3 + (part > 0) <= cells) { return (part > 0 ? '…' : '') + word + '(…)'; }
  if (wordCells < cells) { return '…' + word; }
  const right = lastCells(word, Math.floor((cells - 1) / 3));
  return firstCells(word, cells - 1 - cellsOf(right)) + '…' + right;
}

// --- drawing ---------------------------------------------------------------------------------

const hidden = new Uint8Array(elements.length);
// The place at which each frame was drawn last. A frame that a zoom has only hidden need not be drawn again to be shown.
const rows = new Int32Array(elements.length).fill(-1);
const lefts = new Float64Array(elements.length).fill(-1), widths = new Float64Array(elements.length).fill(-1);

function show(id, on) {
  if (hidden[id] === (on ? 0 : 1)) { return; }
  hidden[id] = on ? 0 : 1;
  if (on) { elements[id].removeAttribute('display'); } else { elements[id].setAttribute('display', 'none'); }
}

function setLabel(id, x, w, y) {
  const text = w > 2 * TEXT_LEFT + cell ? shorten(labelOf(id), Math.floor((w - 2 * TEXT_LEFT) / cell)) : '';
  let label = labels[id];
  if (!label) {
    if (!text) { return; }
    label = labels[id] = document.createElementNS(SVG, 'text');
    elements[id].appendChild(label);
    label.setAttribute('y', y + Math.floor(ROW * 13 / 18));
  }
  if (label.textContent !== text) { label.textContent = text; }
  if (text) { label.setAttribute('x', px(x + TEXT_LEFT)); }
}

function place(id, x, w, row) {
  if (lefts[id] === x && widths[id] === w && rows[id] === row) { return; }
  const y = HEAD + row * ROW;
  if (widths[id] < 0 || (widths[id] < THIN) !== (w < THIN)) { elements[id].classList.toggle('o', w >= THIN); }
  if (lefts[id] !== x) { rects[id].setAttribute('x', px(x)); }
  if (widths[id] !== w) { rects[id].setAttribute('width', px(w)); }
  lefts[id] = x;
  widths[id] = w;
  if (rows[id] !== row) {
    rows[id] = row;
    rects[id].setAttribute('y', y);
    if (labels[id]) { labels[id].setAttribute('y', y + Math.floor(ROW * 13 / 18)); }
  }
  setLabel(id, x, w, y);
}

function draw() {
  const m = model, top = view.top, scale = width / m.weight[top];
  if (m !== drawn) {
    for (let id = 0; id < elements.length; id++) { if (m.indexOf[id] < 0) { show(id, false); } }
  }
  for (let i = 0; i < m.count; i++) {
    const id = m.ids[i];
    const inside = i >= top && i < m.end[top];
    const above = i < top && m.end[i] > top; // the frame is a caller of the zoomed frame
    show(id, inside || above);
    if (!inside && !above) { continue; }
    if (above !== elements[id].classList.contains('above')) { elements[id].classList.toggle('above', above); }
    place(id, MARGIN + (above ? 0 : (m.start[i] - m.start[top]) * scale), above ? width : m.weight[i] * scale,
      view.icicle ? m.depth[i] : m.rows - 1 - m.depth[i]);
  }
}

const heightOfAll = () => HEAD + model.rows * ROW + FOOT + below;

function fitHeight() {
  foot.setAttribute('transform', 'translate(0,' + (below + (model.rows - drawn.rows) * ROW) + ')');
  svg.setAttribute('height', heightOfAll());
}

// --- what the reader can change ----------------------------------------------------------------

function zoom(i) {
  if (i >= 0 && isRest(model.ids[i])) { i = model.parent[i]; }
  if (i < 0 || i === view.top) { return false; }
  view.top = i;
  draw();
  return true;
}

// Shows all frames above a function, merged over all its callers; '' = the picture as it was drawn.
function focus(key) {
  const merged = key === '' ? drawn : mergeModel(drawn, key);
  if (!merged || key === view.focus) { return false; }
  model = merged;
  view.focus = key;
  view.top = 0;
  draw();
  fitHeight();
  return true;
}

function setIcicle(on) {
  if (view.icicle === on) { return; }
  view.icicle = on;
  svg.classList.toggle('icicle', on);
  svg.classList.toggle('flame', !on);
  draw();
}

// The media rule that contains flame_dark.css. setDark changes its condition.
const darkRule = Array.from(svg.querySelector('style').sheet.cssRules).find((r) => r.media);
const darkByDefault = darkRule.media.mediaText;

function setDark(on) {
  view.dark = on;
  darkRule.media.mediaText = on === null ? darkByDefault : on ? 'all' : 'not all';
}

const isDark = () => (view.dark === null ? matchMedia(darkByDefault).matches : view.dark);
