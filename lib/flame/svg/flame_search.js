/* Search, and the state in the URL: #s=TERM&x=OFFSET&y=DEPTH&f=FUNCTION&i=0|1&d=0|1. */
let hits = []; // indexes of the frames that match, in the model
let term = '';
let badTerm = false;

// Returns how many characters of a name an expression may search. The time that a backtracking matcher takes grows with a power of the
// length, and each choice (a repetition, or a group with branches) raises the power by one. 0: the time may grow without bound, as with
// repeated choices, references and look-arounds.
function reach(text) {
  const plain = text.replace(/\\[^1-9k]/g, 'x').replace(/\[[^\]]*\]/g, 'x').replace(/\(\?:/g, '(');
  if (/[\\]|\(\?/.test(plain)) { return 0; }
  const open = [false]; // for each open group: is there a choice inside?
  let closed = false, choices = 0;
  for (let i = 0; i < plain.length; i++) {
    const c = plain[i], before = plain[i - 1], repeats = '*+?{'.includes(c) && !(c === '?' && '*+?}'.includes(before));
    if (c === '(') { open.push(false); }
    if (c === '|' || repeats) { open[open.length - 1] = true; }
    choices += repeats;
    if (repeats && before === ')' && closed && c !== '?') { return 0; }
    if (c === ')' && open.length > 1) {
      closed = open.pop();
      choices += closed;
      open[open.length - 1] = open[open.length - 1] || closed;
    }
  }
  return [4096, 4096, 256, 100][choices] || 0;
}

// Returns a function that searches a text for a regular expression, or for plain text if the text is not a regular expression or its
// search might take too long. Capitals make the search case-sensitive.
function matcher(text) {
  const flags = text === text.toLowerCase() ? 'i' : '', most = reach(text);
  for (const unicode of most > 0 ? ['u', ''] : []) {
    try {
      const r = new RegExp(text, flags + unicode), end = Date.now() + 1000;
      return (s) => {
        badTerm = badTerm || Date.now() > end;
        return !badTerm && r.test(s.slice(0, most));
      };
    } catch (e) {
      // Some expressions are valid only without the flag u.
    }
  }
  badTerm = true;
  const low = text.toLowerCase();
  return (s) => s.toLowerCase().includes(low);
}

function search(text) {
  for (const g of group.querySelectorAll('.hit')) { g.classList.remove('hit'); }
  hits = [];
  term = text;
  badTerm = false;
  svg.classList.toggle('searching', text !== '');
  if (text === '') { return; }
  const matches = matcher(text);
  const known = new Map(); // results by name, because many frames have the same name
  for (let i = model === drawn ? 1 : 0; i < model.count; i++) {
    const id = model.ids[i];
    if (isRest(id)) { continue; }
    const key = nameOf(id) + '\n' + moduleOf(id);
    if (!known.has(key)) { known.set(key, matches(nameOf(id)) || (moduleOf(id) !== '' && matches(moduleOf(id)))); }
    if (known.get(key)) {
      hits.push(i);
      elements[id].classList.add('hit');
    }
  }
}

// Returns the weight of the hits from index a to b. Frames above a hit are part of the hit's weight and are not counted again.
function matchedWeight(a, b) {
  let sum = 0, covered = a;
  for (const i of hits) {
    if (i >= covered && i < b) {
      sum += model.weight[i];
      covered = model.end[i];
    }
  }
  return sum;
}

const percent = (part, all) => (all > 0 ? (100 * part / all).toFixed(2) : '0.00') + ' %';

function matchedText() {
  if (term === '') { return ''; }
  let text = percent(matchedWeight(0, model.count), model.weight[0]) + ' matched';
  if (view.top !== 0) {
    const above = hits.some((i) => i <= view.top && model.end[i] > view.top);
    text += ', ' + (above ? '100.00 %' : percent(matchedWeight(view.top, model.end[view.top]), model.weight[view.top])) +
      ' of this view';
  }
  return text;
}

// Returns the next visible hit after (step 1) or before (step -1) a frame; -1 = there is none.
function hitAfter(at, step) {
  const shown = hits.filter((i) => i >= view.top && i < model.end[view.top]);
  if (!shown.length) { return -1; }
  let k = shown.findIndex((i) => i >= at);
  if (k < 0) { k = step > 0 ? 0 : shown.length - 1; }
  else if (shown[k] === at || step < 0) { k = (k + step + shown.length) % shown.length; }
  return shown[k];
}

// --- the URL -----------------------------------------------------------------------------------

const asDrawn = {icicle: view.icicle};

function stateText() {
  const parts = [];
  if (term !== (svg.dataset.search || '')) { parts.push('s=' + encodeURIComponent(term)); }
  if (view.focus !== '') { parts.push('f=' + encodeURIComponent(view.focus)); }
  if (view.top !== 0) { parts.push('x=' + model.start[view.top], 'y=' + model.depth[view.top]); }
  if (view.icicle !== asDrawn.icicle) { parts.push('i=' + Number(view.icicle)); }
  if (view.dark !== null) { parts.push('d=' + Number(view.dark)); }
  return '#' + parts.join('&');
}

function saveState(asStep) {
  const url = stateText();
  if (url === (location.hash || '#')) { return; }
  try {
    if (asStep) { history.pushState(null, '', url); } else { history.replaceState(null, '', url); }
  } catch (e) {
    // The picture is in an HTML frame that has no URL, so the state cannot be kept.
  }
}

function restoreState() {
  const state = new URLSearchParams(location.hash.slice(1));
  const flag = (key) => (state.has(key) ? state.get(key) === '1' : null);
  setIcicle(flag('i') === null ? asDrawn.icicle : flag('i'));
  setDark(flag('d'));
  focus(state.get('f') || '');
  search(state.has('s') ? state.get('s') : svg.dataset.search || '');
  const x = Number(state.get('x')), y = Number(state.get('y'));
  let i = 0;
  if (state.has('x') && state.has('y')) {
    i = Math.max(0, model.start.findIndex((s, k) => k < model.count && s === x && model.depth[k] === y));
  }
  zoom(i);
}
