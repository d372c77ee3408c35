/* Details, keyboard, toolbar, and the start of it all. */

// --- details -----------------------------------------------------------------------------------

const element = (name, className, text) => {
  const e = document.createElementNS(HTML, name);
  if (className) { e.className = className; }
  if (text) { e.textContent = text; }
  return e;
};

const grouped = (weight) => (weight / 10 ** DECIMALS).toLocaleString('en-US', {maximumFractionDigits: 3});
const amount = (weight) => grouped(weight) + ' ' + UNIT;

// Returns the lines below the name in the box with a frame's details.
function details(i) {
  const m = model, id = m.ids[i], lines = [];
  if (placeOf(id)) { lines.push(placeOf(id)); }
  let text = amount(m.weight[i]) + ' · ' + percent(m.weight[i], drawn.weight[0]);
  if (m.self[i] > 0 && m.self[i] < m.weight[i]) { text += ' · self ' + grouped(m.self[i]); }
  lines.push(text);
  if (m === drawn) { lines.push(...notesOf(id)); }
  const top = view.top !== 0 || m !== drawn ? view.top : -1;
  if (top >= 0 && i > top && i < m.end[top]) { lines.push(percent(m.weight[i], m.weight[top]) + ' of this view'); }
  const caller = m.parent[i];
  if (caller > 0 && caller !== view.top && m.weight[i] < m.weight[caller]) {
    lines.push(percent(m.weight[i], m.weight[caller]) + ' of its caller');
  }
  return lines;
}

const tip = document.createElementNS(SVG, 'foreignObject');
const tipBox = element('div', 'flame-tip');
let over = -1;        // the frame below the pointer
let overTitle = null; // its <title>, removed meanwhile, because the browser would show it on top of the box
let at = -1;          // the frame that the keyboard is on

// Shows a frame's details with a corner at a point of the window.
function showTip(i, clientX, clientY) {
  tipBox.textContent = '';
  tipBox.appendChild(element('b', '', nameOf(model.ids[i])));
  for (const line of details(i)) { tipBox.appendChild(element('i', '', line)); }
  tip.removeAttribute('display');
  const box = svg.getBoundingClientRect();
  const size = tipBox.getBoundingClientRect();
  let x = clientX + 14, y = clientY + 16;
  if (x + size.width > innerWidth - 8) { x = Math.max(8, innerWidth - 8 - size.width); }
  if (y + size.height > innerHeight - 8) { y = Math.max(8, clientY - 12 - size.height); }
  tip.setAttribute('x', px(x - box.left));
  tip.setAttribute('y', px(y - box.top));
}

function leave() {
  if (over >= 0) {
    elements[over].classList.remove('over');
    if (overTitle) { elements[over].prepend(overTitle); }
  }
  over = -1;
  overTitle = null;
  tip.setAttribute('display', 'none');
}

function enter(id) {
  leave();
  over = id;
  linesOf(id);
  overTitle = elements[id].querySelector('title');
  overTitle.remove();
  elements[id].classList.add('over');
}

function indexOf(target) {
  const g = target.closest && target.closest('#frames > g');
  return g ? model.indexOf[g.flameId] : -1;
}

// --- keyboard ----------------------------------------------------------------------------------

// Marks a frame or removes the mark. A screen reader reads out the frame that has the focus.
function mark(i, on) {
  const g = elements[model.ids[i]];
  g.classList.toggle('at', on);
  if (!on) { return; }
  g.setAttribute('tabindex', '-1');
  g.setAttribute('role', 'treeitem');
  g.setAttribute('aria-level', model.depth[i] + 1);
  g.setAttribute('aria-label', [nameOf(model.ids[i]), ...details(i)].join(', '));
  g.focus({preventScroll: true});
}

function moveTo(i) {
  if (at >= 0) { mark(at, false); }
  leave();
  at = i;
  if (i < 0) { return; }
  mark(i, true);
  const rect = rects[model.ids[i]];
  rect.scrollIntoView({block: 'nearest', inline: 'nearest'});
  const box = rect.getBoundingClientRect();
  const hiddenBelow = HEAD + below + 4 - box.top; // the head covers what is below it
  if (whole && hiddenBelow > 0) { scrollBy(0, -hiddenBelow); }
  const now = rect.getBoundingClientRect();
  showTip(i, Math.max(8, now.left), now.bottom - 10);
}

// Returns the neighbour of a frame in a direction: its caller, its widest callee, or the next frame of its row.
function neighbour(i, direction) {
  const m = model;
  if (i < 0) { return view.top; }
  if (direction === 'caller') { return m.parent[i] >= 0 ? m.parent[i] : i; }
  let best = i;
  for (let k = view.top; k < m.end[view.top]; k++) {
    if (direction === 'callee') {
      if (m.parent[k] === i && (best === i || m.weight[k] > m.weight[best])) { best = k; }
    } else if (m.depth[k] === m.depth[i]) {
      if (direction === 'left' && k < i) { best = k; }
      if (direction === 'right' && k > i) { return k; }
    }
  }
  return best;
}

// --- what keys and buttons do --------------------------------------------------------------------

const chosen = () => (at >= 0 ? at : over >= 0 ? model.indexOf[over] : view.top);

function refresh(asStep) {
  matched.textContent = matchedText();
  field.classList.toggle('bad', badTerm);
  if (document.activeElement !== field) { field.value = term; }
  steps.hidden = term === '';
  resetButton.hidden = view.top === 0 && view.focus === '';
  darkButton.setAttribute('aria-pressed', isDark());
  flipButton.setAttribute('aria-pressed', view.icicle);
  saveState(asStep);
}

function zoomTo(i) {
  if (zoom(i)) { refresh(true); }
}

function changeFocus(key) {
  moveTo(-1);
  if (focus(key)) {
    search(term);
    refresh(true);
    scrollToRoot();
  }
}

function focusOn(i) {
  const id = model.ids[i];
  if (!isRest(id) && !(model === drawn && i === 0)) { changeFocus(keyOf(id)); }
}

function reset() {
  zoom(0);
  changeFocus('');
  refresh(true);
}

function clearSearch() {
  field.value = '';
  search('');
  refresh(false);
}

function stepHit(step) {
  const i = hitAfter(at, step);
  if (i >= 0) { moveTo(i); }
}

function flip() {
  moveTo(-1);
  setIcicle(!view.icicle);
  refresh(false);
  scrollToRoot();
}

function say(text) {
  matched.textContent = text;
  setTimeout(() => { matched.textContent = matchedText(); }, 1600);
}

// Copies the stack of the chosen frame to the clipboard, with the innermost frame first, as in backtraces.
function copyStack() {
  const lines = [];
  for (let i = chosen(); i >= 0; i = model.parent[i]) {
    const id = model.ids[i];
    if (model === drawn && i === 0 && lines.length) { break; } // the frame "all" is not a function
    lines.push(nameOf(id) + (moduleOf(id) ? ' (in ' + moduleOf(id) + ')' : ''));
  }
  const text = lines.join('\n') + '\n';
  const by = () => {
    const area = element('textarea');
    area.value = text;
    bar.firstChild.appendChild(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    say(done ? 'Stack copied' : 'This browser does not let a file copy');
  };
  if (navigator.clipboard) {
    navigator.clipboard.writeText(text).then(() => say('Stack copied'), by);
  } else {
    by();
  }
}

const KEYS = {
  '/': () => { field.focus(); field.select(); },
  n: () => stepHit(1),
  N: () => stepHit(-1),
  p: () => stepHit(-1),
  r: reset,
  u: () => zoomTo(model.parent[view.top]),
  Backspace: () => zoomTo(model.parent[view.top]),
  Enter: () => { if (at >= 0) { const i = at; zoomTo(i); moveTo(i); } },
  f: () => focusOn(chosen()),
  i: flip,
  d: () => { setDark(!isDark()); refresh(false); },
  c: copyStack,
  '?': () => { help.hidden = !help.hidden; placeHelp(); },
  ArrowUp: () => moveTo(neighbour(at, view.icicle ? 'caller' : 'callee')),
  ArrowDown: () => moveTo(neighbour(at, view.icicle ? 'callee' : 'caller')),
  ArrowLeft: () => moveTo(neighbour(at, 'left')),
  ArrowRight: () => moveTo(neighbour(at, 'right')),
  Home: () => moveTo(view.top),
  // Each press ends one thing, the first that applies: the help, the mark, the search, the zoom, the focus.
  Escape: () => {
    if (!help.hidden) { KEYS['?'](); }
    else if (at >= 0) { moveTo(-1); }
    else if (term !== '') { clearSearch(); }
    else if (view.top !== 0) { zoomTo(0); }
    else { changeFocus(''); }
  },
};

function onKey(event) {
  if (event.target === field) {
    if (event.key === 'Escape') { clearSearch(); field.blur(); }
    if (event.key === 'Enter') { field.blur(); stepHit(event.shiftKey ? -1 : 1); }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) { return; }
  if (event.target.tagName === 'button' && (event.key === 'Enter' || event.key === ' ')) { return; }
  KEYS[event.key]();
  event.preventDefault();
}

// --- the toolbar ---------------------------------------------------------------------------------

const BAR_WIDTH = 640;
const bar = document.createElementNS(SVG, 'foreignObject');
const headPage = document.createElementNS(SVG, 'rect');
const headLine = document.createElementNS(SVG, 'rect');
const helpPlace = document.createElementNS(SVG, 'foreignObject');
const button = (text, title, onClick, label) => {
  const b = element('button', '', text);
  b.type = 'button';
  b.title = title;
  if (label) { b.setAttribute('aria-label', label); }
  b.addEventListener('click', onClick);
  return b;
};
const field = element('input');
const matched = element('span', 'flame-matched');
const steps = element('span', 'flame-steps');
const resetButton = button('Reset', 'Show all again (r); u goes up one frame', reset);
const flipButton = button('⇅', 'Turn it upside down (i)', flip, 'Icicle graph');
const darkButton = button('◐', 'Dark or light (d)', () => KEYS.d(), 'Dark');
const helpButton = button('?', 'Keys (?)', () => KEYS['?'](), 'Keys');
const help = element('div', 'flame-help');

function buildBar() {
  const box = element('div', 'flame-bar');
  field.type = 'search';
  field.placeholder = 'Search: text or regexp';
  field.title = '/ to search, n and N for the next and previous match, Esc to clear';
  field.setAttribute('aria-label', 'Search frames');
  field.spellcheck = false;
  matched.setAttribute('role', 'status');
  steps.append(button('‹', 'Previous match (N)', () => stepHit(-1), 'Previous match'),
    button('›', 'Next match (n)', () => stepHit(1), 'Next match'));
  box.append(matched, resetButton, field, steps, flipButton, darkButton, helpButton);
  bar.setAttribute('height', 36);
  bar.appendChild(box);
  headPage.setAttribute('class', 'page');
  headLine.setAttribute('class', 'head-line');
  headLine.setAttribute('height', 1);
  head.prepend(headPage, headLine);
  head.appendChild(bar);
}

function buildHelp() {
  const table = [['click', 'zoom; a caller: back up'], ['shift + click', 'focus: all of this function, merged'],
    ['/ · n · N', 'search, next and previous match'], ['arrow keys, Enter', 'walk, zoom'], ['u · r', 'up one frame, all again'],
    ['f', 'focus the marked frame, or the zoomed one'], ['c', 'copy its stack'], ['i · d', 'upside down, dark or light'],
    ['Esc', 'one step back']];
  for (const [key, text] of table) { help.append(element('kbd', '', key), element('span', '', text)); }
  help.hidden = true;
  helpPlace.setAttribute('width', 420);
  helpPlace.setAttribute('height', 300);
  helpPlace.setAttribute('display', 'none');
  helpPlace.appendChild(help);
  head.appendChild(helpPlace);
}

function placeHelp() {
  helpButton.setAttribute('aria-expanded', !help.hidden);
  if (help.hidden) { helpPlace.setAttribute('display', 'none'); } else { helpPlace.removeAttribute('display'); }
}

function buildTip() {
  tip.setAttribute('width', 560);
  tip.setAttribute('height', 400);
  tip.setAttribute('pointer-events', 'none');
  tip.setAttribute('display', 'none');
  tip.appendChild(tipBox);
  svg.append(head, tip); // the last elements are drawn on top: the head stays visible when a deep graph scrolls
  group.setAttribute('role', 'tree');
  group.setAttribute('tabindex', '0');
  group.setAttribute('aria-label', 'Frames, outermost first; arrow keys walk');
  const note = find('note');
  const hint = 'Click a frame to zoom, / to search, ? for all keys.';
  note.textContent = hint + (note.textContent ? '  ' + note.textContent : '');
}

function resize() {
  const box = svg.getBoundingClientRect();
  const page = svg.hasAttribute('data-fixed') ? svg.width.baseVal.value : box.width;
  const titleEnd = Math.max(0, ...Array.from(head.querySelectorAll('text'), (t) => t.getBBox().width)) + 2 * MARGIN;
  const barWidth = Math.min(BAR_WIDTH, page - 2 * MARGIN);
  const narrow = titleEnd + barWidth - 200 + MARGIN > page;
  below = narrow ? 34 : 0;
  bar.setAttribute('x', px(page - barWidth - MARGIN));
  bar.setAttribute('y', narrow ? 58 : 16);
  bar.setAttribute('width', px(barWidth));
  helpPlace.setAttribute('x', px(Math.max(0, page - 420 - MARGIN)));
  helpPlace.setAttribute('y', (narrow ? 58 : 16) + 36);
  headPage.setAttribute('width', px(page));
  headPage.setAttribute('height', HEAD + below - 6);
  headLine.setAttribute('width', px(page));
  headLine.setAttribute('y', HEAD + below - 7);
  group.setAttribute('transform', 'translate(0,' + below + ')');
  fitHeight();
  const inner = Math.max(50, page - 2 * MARGIN);
  if (inner !== width) {
    width = inner;
    draw();
  }
}

// --- the start -----------------------------------------------------------------------------------

function scrollToRoot() {
  if (whole) { scrollTo(0, view.icicle ? 0 : document.documentElement.scrollHeight); }
}

let pointer = null; // the last move of the pointer, which is handled once per animation frame

function onMove() {
  const event = pointer;
  pointer = null;
  if (!event) { return; }
  const i = indexOf(event.target);
  if (i < 0) { leave(); return; }
  if (model.ids[i] !== over) { enter(model.ids[i]); }
  showTip(i, event.clientX, event.clientY);
}

function listen() {
  group.addEventListener('click', (event) => {
    const i = indexOf(event.target);
    if (i < 0) { return; }
    moveTo(-1);
    if (event.shiftKey) { focusOn(i); } else { zoomTo(i); }
  });
  group.addEventListener('mousemove', (event) => {
    if (!pointer) { requestAnimationFrame(onMove); }
    pointer = event;
  });
  group.addEventListener('mouseleave', () => { pointer = null; if (at < 0) { leave(); } });
  let timer = 0;
  field.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => { search(field.value); refresh(false); }, 120);
  });
  document.addEventListener('keydown', onKey);
  const onState = () => { moveTo(-1); restoreState(); refresh(false); };
  addEventListener('hashchange', onState);
  addEventListener('popstate', onState);
  addEventListener('resize', resize);
  if (whole) {
    addEventListener('scroll', () => {
      head.setAttribute('transform', 'translate(0,' + scrollY + ')');
      head.classList.toggle('over-frames', scrollY > 0);
    });
  }
}

if (model.count > 0) {
  buildBar();
  buildHelp();
  buildTip();
  if (!svg.hasAttribute('data-fixed')) {
    svg.removeAttribute('viewBox');
    svg.setAttribute('width', '100%');
  }
  svg.classList.add('live');
  measure();
  resize();
  listen();
  restoreState();
  refresh(false);
  scrollToRoot();
}
