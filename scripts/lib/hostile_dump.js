// Dumps of which each text is the same hostile one. page.js makes pages, pictures and tables of them.
'use strict';
const fs = require('fs');

const TEXTS = ['</title><script>top.hacked=1</script>', '" onload="top.hacked=1" x="', "' onmouseover='top.hacked=1", ']]><script>top.hacked=1</script>', '</template><script>top.hacked=1</script>',
  '<img src=x onerror=top.hacked=1>', '"><svg onload=top.hacked=1>', '&lt;b&gt;', '&#60;img src=x onerror=top.hacked=1&#62;', '\u202e\u2066reversed', 'a\x1b[31mred', 'two\nlines', 'zero\u0000byte', 'lone\ud800high', 'lone\udc00low',
  '</style><style>*{display:none}', '<!--', '--><script>top.hacked=1</script>', '<![CDATA[', '</script>', 'javascript:top.hacked=1', 'data:text/html,<script>top.hacked=1</script>',
  '${top.hacked=1}`', '__proto__', "=cmd|' /C calc'!A0", '<base href=https://evil.example/>', 'L'.repeat(60000)];

const BASE = 0x100000000;
const frames = (from) => [0, 1, 2, 3].map((k) => BASE + 0x1000 + (from * 8 + k) * 0x100);

// A dump with each member of stall-dump(5) that can be a text; t makes the text of a member.
function dump(i, t) {
  const names = {}, id = (what) => i + t(what);
  for (let k = 0; k < 16; k++) { names[BASE + 0x1000 + k * 0x100] = [t('function' + k + i), 4, '/src/' + t('file') + '.c', 7, true]; }
  const waits = {kind: t('mutex'), address: 16, owner: 2};
  return {
    format: 'stall-dump/1', id: id('dump'), time: '2026-11-20T10:00:0' + i % 10 + '.000Z', app: {id: t('app'), version: t('1.0'), build: t('build')},
    device: {model: t('model'), os: t('iOS 18'), os_build: t('22A'), arch: t('arm64'), cpus: 4}, user: id('user'), context: {screen: t('screen'), [t('member')]: t('value')},
    policy: {preset: t('preset'), user_share_ppm: 10}, lack: t('lack'), meter: {samples: 4, [t('meter')]: t('cost')}, threads_left_out: 3, heaviest: {stack: 0, cause: t('cause')},
    class: {level1: t('level1'), level2: t('level2'), action: t('act'), cause: t('io'), title: t('title')},
    stall: {
      id: id('stall'), seq: 1, kind: 'hang', detector: t('runloop'), activity: t('activity'), reason: t('reason'), loop_at: t('loop'), thread: {id: 9, name: t('thread')}, edges: t('edges'), action: t('action'), mode: t('mode'),
      states: [[100, t('state')], [50, t('states')]], prewarmed: false, top_thread: {id: 2, name: t('top')}, threshold_ms: 2000, at_ms: 2000, duration_ms: 3000 + i, span_ms: 3000 + i, ended: true, fatal: i % 3 === 0,
      gap_ms: 0, cpu_permille: 500, cpu_ms: 10, suppressed: 1, app_state: t('foreground'), visibility: t('visible'), since_launch_ms: 5,
    },
    images: [{uuid: '6B834217-0000-0000-0000-00000000000' + i % 10, build_id: t('build id'), name: t('Shop'), path: '/' + t('path'), arch: t('arm64'), load: BASE, size: 1 << 20, in_app: true, unplaced: false, symbols: t('missing'), symbols_file: t('symbols')}],
    threads: [{id: 1, name: t('main'), main: true, crashed: true, state: t('waiting'), cpu_ms: 3, cpu_permille: 5, waits_for: waits, frames: frames(0), exact: [0], truncated: false, incomplete: true},
      {id: 2, name: t('worker'), state: t('running'), waits_for: {kind: t('queue'), address: 8, owner: 1}, frames: frames(1)}],
    samples: {interval_ms: 50, ring: [0, 1, 0], stacks: [{count: 3, frames: frames(0)}, {count: 1, frames: frames(1)}]}, names, report: {format: t('report'), text: t('original')},
  };
}

// The same dump as stallsym writes it: names are texts that locations refer to.
function symbolicated(i, t) {
  const d = dump(i, t);
  delete d.names;
  d.strings = [t('outer' + i), t('linkage'), '/src/' + t('source') + '.c', t('inlined' + i)];
  d.locations = [0, 1, 2, 3].map((k) => ({image: 0, offset: 0x1000 + k * 0x100, start: 0x1000, lines: [[3, -1, 2, 7, 0], [0, 1, 2, 9, 0]], source: t('dwarf'), in_app: true}));
  for (const place of [...d.threads, ...d.samples.stacks]) { place.frames = frames(0); place.locations = [0, 1, 2, 3]; }
  return d;
}

// The members of a dump that stall-dump(5) tells.
function told() {
  const text = fs.readFileSync('man/stall-dump.5', 'utf8').split('.Ss What readers accept')[0];
  return [...text.matchAll(/^\.It Cm (.+)$/gm)].flatMap((m) => m[1].split(/ , (?:Cm )?/)).map((name) => name.replace(/^.*\./, ''));
}

function members(value, found = new Set()) {
  if (value && typeof value === 'object') {
    for (const [name, inner] of Object.entries(value)) { found.add(name); members(inner, found); }
  }
  return found;
}

const plain = (word) => word;
const lines = (texts) => texts.map((text, i) => [dump(i, (word) => text + word), symbolicated(i + 100, (word) => text + word)].map((d) => JSON.stringify(d) + '\n').join('')).join('');
module.exports = {
  TEXTS, lines, hostile: () => lines(TEXTS), harmless: (word = 'name') => lines(TEXTS.map((text, i) => word + i)), hostileDump: (text, i) => dump(i, (word) => text + word),
  missing: () => { const has = members([dump(0, plain), symbolicated(0, plain)]); return told().filter((name) => !has.has(name)); },
};
