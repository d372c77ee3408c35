// Shows the stored dumps of a bucket one by one: the stacks of all threads, and the sampled stacks.

const WHY = ['worst', 'newest', 'worst of '];
const textOf = (i) => (i < 0 ? '' : texts[i]);

function sourceLink(file, line, version) {
  const name = file.slice(file.lastIndexOf('/') + 1) + (line ? ':' + line : '');
  if (data.source < 0) { return name; }
  const parts = {'%f': file.replace(/^\//, '').split('/').map(encodeURIComponent).join('/'), '%l': String(line), '%v': encodeURIComponent(version), '%%': '%'};
  return make('a', {href: texts[data.source].replace(/%[flv%]/g, (m) => parts[m]), rel: 'noreferrer noopener'}, name);
}

function stackNode(index, version) {
  if (index < 0) { return make('p', {class: 'more'}, 'no stack'); }
  return make('ol', {class: 'stack'}, ...data.stacks[index].map((at, i, all) => {
    const [fn, image, file, line, flags] = data.frames[at], inApp = flags & 1;
    const li = make('li', inApp ? {class: 'app'} : {}, inApp ? make('b', {}, textOf(fn)) : textOf(fn));
    if (flags & 2) { li.append(' ', make('i', {}, 'inlined')); }
    if (image >= 0 && (i === 0 || data.frames[all[i - 1]][1] !== image)) { li.append(' ', make('small', {}, textOf(image))); }
    if (file >= 0) { li.append(' ', make('cite', {}, sourceLink(textOf(file), line, version))); }
    return li;
  }));
}

function threadTitle(thread, threads) {
  const [id, name, state, waits, owner, cpu, main] = thread, holder = threads.find((t) => t[0] === owner);
  return (main ? 'main thread ' : 'thread ') + id + ' ' + textOf(name) + (state >= 0 ? ', ' + textOf(state) : '') + (cpu >= 0 ? ', on a processor for ' + Math.floor(cpu / 10) + '%' : '')
    + (waits >= 0 ? ', waits for a ' + textOf(waits) + (holder ? ' that thread ' + owner + ' ' + textOf(holder[1]) + ' holds' : '') : '');
}

function dumpNode(dump) {
  const [, id, time, version, build, os, device, screen, reason, span, duration, fatal, left, threads, samples] = dump;
  const total = samples.reduce((sum, s) => sum + s[0], 0), node = make('div', {});
  const facts = [['dump', textOf(id)], ['when', textOf(time).replace(/^(\d{4}-\d\d-\d\d)T([\d:]{8})(\.\d*)?Z$/, '$1 $2 UTC')], ['app', [textOf(version), textOf(build)].filter(Boolean).join(', build ')], ['on', [textOf(device), textOf(os)].filter(Boolean).join(', ')],
    ['screen', textOf(screen)], ['lost', seconds(Math.max(span, 0)) + (duration > span ? ' of a stall of ' + seconds(duration) : '') + (fatal ? '; the process died in it' : '')], ['because', textOf(reason)]];
  node.append(make('dl', {class: 'facts'}, ...facts.filter((f) => f[1]).flatMap((f) => [make('dt', {}, f[0]), make('dd', {}, f[1])])));
  samples.forEach((sample, i) => {
    const part = make('details', {class: 'thread'}, make('summary', {}, 'sampled ' + sample[0] + ' of ' + total + ' times'), stackNode(sample[1], textOf(version)));
    part.open = i === 0;
    node.append(part);
  });
  for (const thread of threads) {
    const holds = threads.some((t) => t[4] === thread[0] && t[3] >= 0);
    const part = make('details', {class: 'thread'}, make('summary', {}, threadTitle(thread, threads), holds ? make('i', {}, 'holds the lock') : ''), stackNode(thread[7], textOf(version)));
    part.open = Boolean(holds || (thread[6] && !samples.length));
    node.append(part);
  }
  if (left) { node.append(make('p', {class: 'more'}, left + ' more threads')); }
  return node;
}

// Puts buttons before a bucket's list of dumps. The buttons show the dumps one after the other.
function showDumps(node, id) {
  const dumps = data.dumps[id];
  if (!dumps || node.firstChild.nodeName === 'NAV') { return; }
  const view = make('div', {role: 'region', 'aria-label': 'dump', 'aria-live': 'polite'}), list = node.firstChild;
  let at = -1;
  const show = (to) => {
    at = (to + dumps.length) % dumps.length;
    view.replaceChildren(dumpNode(dumps[at]));
    buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(i === at)));
  };
  const buttons = dumps.map((dump, i) => {
    const button = make('button', {type: 'button', 'aria-pressed': 'false'}, WHY[dump[0]] + (dump[0] === 2 ? textOf(dump[3]) : ''));
    button.addEventListener('click', () => show(i));
    return button;
  });
  const step = (by, sign) => {
    const button = make('button', {type: 'button', 'aria-label': by < 0 ? 'dump before' : 'next dump'}, sign);
    button.addEventListener('click', () => show(at + by));
    return button;
  };
  node.prepend(make('nav', {'aria-label': 'stored dumps'}, step(-1, '\u2039'), ...buttons, step(1, '\u203a')));
  node.step = (by) => show(at + by);
  list.hidden = true;
  node.append(view);
  show(0);
}
