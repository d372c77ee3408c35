/* Makes the picture interactive: zoom, search, details, keyboard, state in the URL fragment.
 *
 * Everything it knows it reads from the frames: the order in the document is pre-order, a rectangle's
 * y is the depth, data-w the exact weight, <title> the full text. Names are only ever handled as text,
 * so no name can become markup. One listener serves all frames. */
(function () {
  'use strict';
  const SVG = 'http://www.w3.org/2000/svg';
  const HTML = 'http://www.w3.org/1999/xhtml';
  const script = document.currentScript;
  const svg = (script && script.ownerSVGElement) || document.documentElement;
  const whole = svg === document.documentElement; // not a part of a page
  const find = (id) => svg.querySelector('#' + id);
  const number = (key) => Number(svg.dataset[key]);
  const group = find('frames');
  const head = find('head');
  const foot = find('foot');
  const ROW = number('row'), HEAD = number('head'), FOOT = number('foot');
  const MARGIN = number('margin'), DEPTH = number('depth');
  const icicle = svg.classList.contains('icicle');
  const TEXT_LEFT = 5, TEXT_BASE = 13, LABEL_LEAST = 3, THIN = 2; // as in svg.c

  // --- the frames ----------------------------------------------------------------------------

  const count = group.children.length;
  const frames = Array.from(group.children);
  const rects = new Array(count), labels = new Array(count);
  const names = new Array(count), lines = new Array(count);
  const weight = new Float64Array(count), start = new Float64Array(count);
  const depth = new Int32Array(count), end = new Int32Array(count), parent = new Int32Array(count);

  function readFrames() {
    const next = [0]; // where the next child of the open frame of each depth starts
    const open = [];
    for (let i = 0; i < count; i++) {
      const g = frames[i];
      const title = g.firstElementChild;
      const rect = title.nextElementSibling;
      const row = Math.round((Number(rect.getAttribute('y')) - HEAD) / ROW);
      const d = icicle ? row : DEPTH - row;
      while (open.length > d) { end[open.pop()] = i; }
      g.flameIndex = i;
      rects[i] = rect;
      labels[i] = rect.nextElementSibling;
      lines[i] = title.textContent.split('\n');
      names[i] = g.classList.contains('rest') ? '…' : lines[i][0];
      weight[i] = Number(g.dataset.w);
      depth[i] = d;
      parent[i] = open.length ? open[open.length - 1] : -1;
      start[i] = next[d];
      next[d] += weight[i];
      next[d + 1] = start[i];
      open.push(i);
      title.remove(); // the box shows it; two at once would be one too many
      g.setAttribute('aria-label', lines[i].join(', '));
    }
    while (open.length) { end[open.pop()] = count; }
  }

  // --- drawing -------------------------------------------------------------------------------

  let view = 0;       // the frame that fills the width
  let at = -1;        // the frame that the keyboard is on
  let width = 0;      // of the frames, in pixels
  let cell = 7;       // of a character
  let top = 0;        // how far the toolbar pushes the frames down

  function measure() {
    const probe = document.createElementNS(SVG, 'text');
    probe.textContent = 'm'.repeat(100);
    probe.setAttribute('visibility', 'hidden');
    group.appendChild(probe);
    const length = probe.getComputedTextLength();
    probe.remove();
    if (length > 0) { cell = length / 100; }
  }

  const isWide = (c) => (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xd7a3) ||
    (c >= 0xf900 && c <= 0xfaff) || (c >= 0xff00 && c <= 0xff60) || c >= 0x1f300;

  // As much of a name as fits, its end replaced by an ellipsis.
  function shorten(name, cells) {
    if (cells < LABEL_LEAST && name !== '…') { return ''; }
    let used = 0, keep = '', shown = '';
    for (const c of name) {
      used += isWide(c.codePointAt(0)) ? 2 : 1;
      if (used > cells) { return keep && keep + '…'; }
      shown += c;
      if (used < cells) { keep = shown; }
    }
    return name;
  }

  const px = (v) => String(Math.round(v * 100) / 100);

  function setLabel(i, x, w) {
    const text = shorten(names[i], Math.floor((w - 2 * TEXT_LEFT) / cell));
    if (!labels[i]) {
      if (!text) { return; }
      labels[i] = document.createElementNS(SVG, 'text');
      labels[i].setAttribute('y', Number(rects[i].getAttribute('y')) + TEXT_BASE);
      frames[i].appendChild(labels[i]);
    }
    labels[i].textContent = text;
    labels[i].setAttribute('x', px(x + TEXT_LEFT));
  }

  function draw() {
    const scale = width / weight[view];
    for (let i = 0; i < count; i++) {
      const inside = i >= view && i < end[view];
      const above = !inside && i < view && end[i] > view;
      const g = frames[i];
      if (!inside && !above) {
        g.setAttribute('display', 'none');
        continue;
      }
      const x = MARGIN + (above ? 0 : (start[i] - start[view]) * scale);
      const w = above ? width : weight[i] * scale;
      g.removeAttribute('display');
      g.classList.toggle('above', above);
      g.classList.toggle('t', w < THIN);
      rects[i].setAttribute('x', px(x));
      rects[i].setAttribute('width', px(w));
      setLabel(i, x, w);
    }
    resetButton.hidden = view === 0;
  }

  function resize() {
    const box = svg.getBoundingClientRect();
    const page = svg.hasAttribute('data-fixed') ? svg.width.baseVal.value : box.width;
    const titleEnd = Math.max(0, ...Array.from(head.querySelectorAll('text'), (t) => t.getBBox().width)) + 2 * MARGIN;
    const barWidth = Math.min(480, page - 2 * MARGIN);
    const below = titleEnd + barWidth + MARGIN > page;
    top = below ? 34 : 0;
    bar.setAttribute('x', px(page - barWidth - MARGIN));
    bar.setAttribute('y', below ? 58 : 16);
    bar.setAttribute('width', px(barWidth));
    headPage.setAttribute('width', px(page));
    headPage.setAttribute('height', HEAD + top - 6);
    group.setAttribute('transform', 'translate(0,' + top + ')');
    foot.setAttribute('transform', 'translate(0,' + top + ')');
    svg.setAttribute('height', HEAD + (DEPTH + 1) * ROW + FOOT + top);
    const inner = Math.max(50, page - 2 * MARGIN);
    if (inner !== width) {
      width = inner;
      draw();
    }
  }

  // --- zoom ----------------------------------------------------------------------------------

  const isRest = (i) => frames[i].classList.contains('rest');

  function zoom(i, remember) {
    if (isRest(i)) { i = parent[i]; }
    if (i < 0 || i === view) { return; }
    view = i;
    draw();
    showMatched();
    if (remember) { saveState(true); }
  }

  // --- search --------------------------------------------------------------------------------

  let hits = []; // indexes of the frames that match
  let term = '';

  // A regular expression, or plain text if it is not one; capitals make it case-sensitive.
  function matcher(text) {
    const flags = text === text.toLowerCase() ? 'iu' : 'u';
    field.classList.remove('bad');
    try {
      const r = new RegExp(text, flags);
      return (s) => r.test(s);
    } catch (e) {
      field.classList.add('bad');
      const low = text.toLowerCase();
      return (s) => s.toLowerCase().includes(low);
    }
  }

  function search(text) {
    for (const i of hits) { frames[i].classList.remove('hit'); }
    hits = [];
    term = text;
    svg.classList.toggle('searching', text !== '');
    field.classList.remove('bad');
    if (text !== '') {
      const matches = matcher(text);
      for (let i = 1; i < count; i++) {
        if (isRest(i)) { continue; }
        const module = lines[i].length > 2 && lines[i][1].startsWith('in ') ? lines[i][1] : '';
        if (matches(lines[i][0]) || (module && matches(module))) {
          hits.push(i);
          frames[i].classList.add('hit');
        }
      }
    }
    showMatched();
  }

  // The weight of the hits from index a to b; what stands on a hit is a part of it.
  function matchedWeight(a, b) {
    let sum = 0, covered = a;
    for (const i of hits) {
      if (i >= covered && i < b) {
        sum += weight[i];
        covered = end[i];
      }
    }
    return sum;
  }

  const percent = (part, all) => (all > 0 ? (100 * part / all).toFixed(2) : '0.00') + ' %';

  function showMatched() {
    if (term === '') {
      matched.textContent = '';
      return;
    }
    let text = percent(matchedWeight(0, count), weight[0]) + ' matched';
    if (view !== 0) {
      const above = hits.some((i) => i <= view && end[i] > view);
      text += ', ' + (above ? '100.00 %' : percent(matchedWeight(view, end[view]), weight[view])) + ' of this view';
    }
    matched.textContent = text;
  }

  function nextHit(step) {
    const shown = hits.filter((i) => i >= view && i < end[view]);
    if (!shown.length) { return; }
    let k = shown.findIndex((i) => i >= at);
    if (k < 0) { k = step > 0 ? 0 : shown.length - 1; }
    else if (shown[k] === at || step < 0) { k = (k + step + shown.length) % shown.length; }
    moveTo(shown[k]);
  }

  // --- state in the URL: #s=TERM&x=OFFSET&y=DEPTH ---------------------------------------------

  function saveState(asStep) {
    const parts = [];
    if (term !== '') { parts.push('s=' + encodeURIComponent(term)); }
    if (view !== 0) { parts.push('x=' + start[view], 'y=' + depth[view]); }
    const url = '#' + parts.join('&');
    if (url === (location.hash || '#')) { return; }
    try {
      if (asStep) { history.pushState(null, '', url); } else { history.replaceState(null, '', url); }
    } catch (e) {
      // A frame without an address of its own: there is nothing to keep the state in.
    }
  }

  function restoreState() {
    const state = new URLSearchParams(location.hash.slice(1));
    const x = Number(state.get('x')), y = Number(state.get('y'));
    let i = 0;
    if (state.has('x') && state.has('y')) {
      i = Math.max(0, frames.findIndex((g, k) => depth[k] === y && start[k] === x));
    }
    const text = state.get('s') || '';
    if (text !== term) {
      field.value = text;
      search(text);
    }
    zoom(i, false);
  }

  // --- details -------------------------------------------------------------------------------

  const element = (name, className, text) => {
    const e = document.createElementNS(HTML, name);
    if (className) { e.className = className; }
    if (text) { e.textContent = text; }
    return e;
  };

  const tip = document.createElementNS(SVG, 'foreignObject');
  const tipBox = element('div', 'flame-tip');
  let over = -1;

  // Shows a frame's details with a corner at a point of the window.
  function showTip(i, clientX, clientY) {
    tipBox.textContent = '';
    tipBox.appendChild(element('b', '', lines[i][0]));
    lines[i].slice(1).forEach((line) => tipBox.appendChild(element('i', '', line)));
    if (view !== 0 && i >= view && i < end[view]) {
      tipBox.appendChild(element('i', '', percent(weight[i], weight[view]) + ' of this view'));
    }
    if (parent[i] > 0 && parent[i] !== view && weight[i] < weight[parent[i]]) {
      tipBox.appendChild(element('i', '', percent(weight[i], weight[parent[i]]) + ' of its caller'));
    }
    tip.removeAttribute('display');
    const box = svg.getBoundingClientRect();
    const size = tipBox.getBoundingClientRect();
    let x = clientX + 14, y = clientY + 16;
    if (x + size.width > innerWidth - 8) { x = Math.max(8, innerWidth - 8 - size.width); }
    if (y + size.height > innerHeight - 8) { y = Math.max(8, clientY - 12 - size.height); }
    tip.setAttribute('x', px(x - box.left));
    tip.setAttribute('y', px(y - box.top));
  }

  function hideTip() {
    if (over >= 0) { frames[over].classList.remove('over'); }
    over = -1;
    tip.setAttribute('display', 'none');
  }

  function indexOf(target) {
    const g = target.closest && target.closest('#frames > g');
    return g ? g.flameIndex : -1;
  }

  // --- keyboard ------------------------------------------------------------------------------

  function moveTo(i) {
    if (at >= 0) { frames[at].classList.remove('at'); }
    at = i;
    if (i < 0) {
      hideTip();
      return;
    }
    frames[i].classList.add('at');
    rects[i].scrollIntoView({block: 'nearest', inline: 'nearest'});
    const box = rects[i].getBoundingClientRect();
    showTip(i, Math.max(8, box.left), box.bottom - 10);
  }

  // The neighbour in a direction: to the caller, the widest callee, or the next frame of the row.
  function neighbour(i, direction) {
    if (i < 0) { return view; }
    if (direction === 'caller') { return parent[i] >= 0 ? parent[i] : i; }
    let best = i;
    for (let k = view; k < end[view]; k++) {
      if (direction === 'callee') {
        if (parent[k] === i && (best === i || weight[k] > weight[best])) { best = k; }
      } else if (depth[k] === depth[i]) {
        if (direction === 'left' && k < i) { best = k; }
        if (direction === 'right' && k > i) { return k; }
      }
    }
    return best;
  }

  const KEYS = {
    '/': () => { field.focus(); field.select(); },
    n: () => nextHit(1),
    N: () => nextHit(-1),
    p: () => nextHit(-1),
    r: () => zoom(0, true),
    u: () => zoom(parent[view], true),
    Backspace: () => zoom(parent[view], true),
    Enter: () => { if (at >= 0) { zoom(at, true); moveTo(at); } },
    ArrowUp: () => moveTo(neighbour(at, icicle ? 'caller' : 'callee')),
    ArrowDown: () => moveTo(neighbour(at, icicle ? 'callee' : 'caller')),
    ArrowLeft: () => moveTo(neighbour(at, 'left')),
    ArrowRight: () => moveTo(neighbour(at, 'right')),
    // One thing at a time: the mark, then the search, then the zoom.
    Escape: () => {
      if (at >= 0) { moveTo(-1); } else if (term !== '') { clearSearch(); } else { zoom(0, true); }
    },
  };

  function clearSearch() {
    field.value = '';
    search('');
    saveState(false);
  }

  function onKey(event) {
    if (event.target === field) {
      if (event.key === 'Escape') { clearSearch(); field.blur(); }
      if (event.key === 'Enter') { field.blur(); nextHit(event.shiftKey ? -1 : 1); }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) { return; }
    KEYS[event.key]();
    event.preventDefault();
  }

  // --- set up --------------------------------------------------------------------------------

  const bar = document.createElementNS(SVG, 'foreignObject');
  const headPage = document.createElementNS(SVG, 'rect');
  const field = element('input');
  const matched = element('span', 'flame-matched');
  const resetButton = element('button', '', 'Reset zoom');

  function buildHead() {
    const box = element('div', 'flame-bar');
    field.type = 'search';
    field.placeholder = 'Search: text or regexp';
    field.title = '/ to search, n and N for the next and previous match, Esc to clear';
    field.setAttribute('aria-label', 'Search frames');
    field.spellcheck = false;
    resetButton.type = 'button';
    resetButton.hidden = true;
    resetButton.title = 'Esc, or r; u goes up one frame';
    matched.setAttribute('role', 'status');
    box.append(matched, resetButton, field);
    bar.setAttribute('height', 36);
    bar.appendChild(box);
    headPage.setAttribute('class', 'page');
    head.insertBefore(headPage, head.firstChild);
    head.appendChild(bar);
    svg.appendChild(head); // above the frames: it stays in sight when a deep graph scrolls
    tip.setAttribute('width', 540);
    tip.setAttribute('height', 400);
    tip.setAttribute('pointer-events', 'none');
    tip.setAttribute('display', 'none');
    tip.appendChild(tipBox);
    svg.appendChild(tip);
    const note = foot.querySelector('text');
    const hint = 'Click a frame to zoom, / to search, arrow keys and Enter to walk, Esc to go back.';
    note.textContent = hint + (note.textContent ? '  ' + note.textContent : '');
  }

  function listen() {
    group.addEventListener('click', (event) => {
      const i = indexOf(event.target);
      if (i >= 0) { hideTip(); moveTo(-1); zoom(i, true); }
    });
    group.addEventListener('mousemove', (event) => {
      const i = indexOf(event.target);
      if (i < 0) { hideTip(); return; }
      if (i !== over) {
        hideTip();
        over = i;
        frames[i].classList.add('over');
      }
      showTip(i, event.clientX, event.clientY);
    });
    group.addEventListener('mouseleave', hideTip);
    resetButton.addEventListener('click', () => zoom(0, true));
    let timer = 0;
    field.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => { search(field.value); saveState(false); }, 120);
    });
    document.addEventListener('keydown', onKey);
    addEventListener('hashchange', restoreState);
    addEventListener('popstate', restoreState);
    addEventListener('resize', resize);
    if (whole) {
      addEventListener('scroll', () => head.setAttribute('transform', 'translate(0,' + scrollY + ')'));
    }
  }

  if (count === 0) { return; }
  readFrames();
  buildHead();
  if (!svg.hasAttribute('data-fixed')) {
    svg.removeAttribute('viewBox');
    svg.setAttribute('width', '100%');
  }
  svg.classList.add('live');
  measure();
  resize();
  listen();
  restoreState();
  if (whole && !icicle) { scrollTo(0, document.documentElement.scrollHeight); }
}());
