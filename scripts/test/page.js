// The browser's side of scripts/test/page: node page.js STALLCLASSIFY BROWSER FOLDER [SCREENSHOTS]. Prints TAP.
'use strict';
const {chromium} = require('playwright-core');
const {execFileSync, spawn} = require('child_process');
const fs = require('fs');
const {TEXTS, hostile, harmless, hostileDump, missing} = require('../lib/hostile_dump.js');
const [, , stallclassify, executablePath, folder, screenshots] = process.argv;

// --- TAP ---------------------------------------------------------------------------------------

let number = 0, failed = 0;
function ok(value, name, got) {
  number++;
  if (!value) { failed++; }
  console.log((value ? 'ok ' : 'not ok ') + number + ' - ' + name);
  if (!value && got !== undefined) { console.log('# got ' + JSON.stringify(got)); }
}
const is = (got, want, name) => ok(JSON.stringify(got) === JSON.stringify(want), name, got);

// --- pages ---------------------------------------------------------------------------------------

function write(name, args, input) {
  const file = folder + '/' + name + '.html';
  execFileSync(stallclassify, ['-F', 'html', '-o', file, ...args], {input});
  return file;
}

const OURS = ['-d', 'testdata/objects/macho-arm64', 'testdata/dumps/lock.json', 'testdata/dumps/deadlock.json', 'testdata/dumps/triage.jsonl'];

// Dumps of a stall in a function, each of another user.
function stallsIn(inner, version, count, more) {
  return Array.from({length: count}, (x, i) => JSON.stringify({
    format: 'stall-dump/1', id: inner + version + i, time: '2026-11-2' + i % 9 + 'T10:00:00.000Z', user: 'user ' + i, app: {id: 'org.example.shop', version},
    stall: {id: inner + version + i, duration_ms: 3000, span_ms: 3000, at_ms: 2000, ended: true, ...more},
    images: [{name: 'Shop', load: 4096, size: 65536, in_app: true}], threads: [{id: 1, main: true, frames: [4112, 4128, 4144]}], names: {4112: [inner], 4128: [inner + '_caller'], 4144: ['main']},
  }) + '\n').join('');
}

// Session records of these hours, as many for each of 80 users, on the days of stallsIn.
const hoursOf = (version, hours, watched) => Array.from({length: 80}, (x, i) => JSON.stringify({format: 'stall-session/1', id: version + ' ' + i, time: '2026-11-2' + i % 9 + 'T09:00:00.000Z', app: {version}, user: 'user ' + i,
  length_ms: hours * 45000, foreground_ms: hours * 45000, wall_ms: hours * 45000, watched_ms: hours * 45000 * (watched ?? 1), launches: 1, ended: true}) + '\n').join('');

// Stalls of two versions, the first of which was used twice as long: one as often in both, one fixed in 2.0, one new in it, one that gets worse, one that ends in death.
const RELEASES = stallsIn('steady', '1.0', 80) + stallsIn('steady', '2.0', 40) + stallsIn('mended', '1.0', 60) + stallsIn('fresh', '2.0', 50) + stallsIn('grows', '1.0', 20) + stallsIn('grows', '2.0', 45)
  + stallsIn('dies', '1.0', 8, {fatal: true}) + stallsIn('stray', '9.9-dev', 1);

// A dump of a stall in parse, which load called for the caller.
function plainDump(id, caller) {
  return JSON.stringify({
    format: 'stall-dump/1', id, time: '2026-11-20T10:00:00.000Z', user: 'user ' + id, app: {version: '5.3'}, stall: {id, duration_ms: 3000, span_ms: 3000, at_ms: 2000, ended: true},
    images: [{name: 'Shop', load: 4096, size: 65536, in_app: true}], threads: [{id: 1, main: true, frames: [4112, 4128, 4144, 4160]}], names: {4112: ['parse'], 4128: ['load'], 4144: [caller], 4160: ['main']},
  }) + '\n';
}

// --- a browser -----------------------------------------------------------------------------------

let browser;
async function open(file, options, hash) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, ...options});
  const page = await context.newPage();
  page.said = [];
  page.on('console', (m) => page.said.push(m.text()));
  page.on('pageerror', (e) => page.said.push(e.message));
  page.on('request', (r) => { if (!r.url().startsWith('file:') && !r.url().startsWith('blob:')) { page.said.push('asked for ' + r.url()); } });
  await page.goto('file://' + file + (hash || ''));
  if (!options || options.javaScriptEnabled !== false) { await page.waitForSelector('html[data-ready]'); }
  return page;
}
const shot = async (page, name) => { if (screenshots) { await page.screenshot({path: screenshots + '/' + name + '.png', fullPage: true}); } };
const ids = (page) => page.$$eval('#buckets tbody tr:not(.inside) td:nth-child(2) > i', (nodes) => nodes.map((n) => n.textContent));
const column = (page, n) => page.$$eval('#buckets tbody tr:not(.inside)', (rows, k) => rows.map((r) => r.cells[k].textContent), n);
const filterBy = async (page, text) => {
  await page.fill('#tools input[type=search]', text);
  await page.waitForFunction(() => document.documentElement.dataset.applied === document.querySelector('#tools input').value);
};

async function useTable(file) {
  const page = await open(file), all = await ids(page);
  ok(all.length >= 5, 'the table has all buckets', all.length);
  await shot(page, 'light');
  await page.click('th[data-sort=users] button');
  const users = (await column(page, 5)).map(Number);
  is(users, [...users].sort((a, b) => b - a), 'a click on a column sorts by it, the most first');
  is(await page.getAttribute('th[data-sort=users]', 'aria-sort'), 'descending', 'and says so');
  await page.click('th[data-sort=users] button');
  const less = (await column(page, 5)).map(Number);
  is(less, [...less].sort((a, b) => a - b), 'another one turns it round');
  ok((await page.evaluate(() => location.hash)).includes('sort=users'), 'the fragment has the order');

  await page.click('th[data-sort=title]', {position: {x: 200, y: 8}});
  is(await page.getAttribute('th[data-sort=title]', 'aria-sort'), 'ascending', 'a click beside the word sorts, too');

  await filterBy(page, 'cause=io');
  is([...new Set(await column(page, 2))], ['io'], 'a term selects by cause');
  await filterBy(page, 'app.version>=5.3.1 stalled_ms>10000');
  ok((await ids(page)).length > 0 && (await ids(page)).length < all.length, 'versions and numbers are compared', await ids(page));
  await filterBy(page, 'title~^.*DB');
  ok((await column(page, 1)).every((t) => t.includes('DB')) && (await ids(page)).length > 1, 'a regular expression selects by title', await column(page, 1));
  await filterBy(page, 'title!~[[:upper:]]');
  ok((await column(page, 1)).every((t) => !/[A-Z]/.test(t)), 'as does one that must not be found', await column(page, 1));
  await filterBy(page, 'layout');
  ok((await column(page, 1)).every((t) => /layout/i.test(t)), 'a word alone is looked for in the title');
  await filterBy(page, 'IO');
  is([...new Set(await column(page, 2))], ['io'], 'or is a cause');
  await filterBy(page, all[2].slice(0, 4));
  is(await ids(page), [all[2]], 'or the beginning of an id');
  await filterBy(page, 'device.os~.');
  ok((await page.textContent('#status')).includes('the numbers are of all dumps of a bucket'), 'a term on a property of dumps has a note', await page.textContent('#status'));
  await filterBy(page, 'app.version=5.3.0');
  const few = await ids(page);
  await page.focus('#tools input[type=search]');
  await page.keyboard.press('Escape');
  is([await page.inputValue('#tools input[type=search]'), await ids(page)], ['app.version=5.3.0', few], 'Escape leaves the filter, its text and its rows');
  await page.$eval('#tools input[type=search]', (node) => { node.value = ''; node.dispatchEvent(new Event('search')); });
  await page.waitForFunction((n) => document.querySelectorAll('#buckets tbody tr').length === n, all.length);
  ok(!(await page.evaluate(() => location.hash)).includes('q='), 'a box that the browser empties is no filter');
  await filterBy(page, 'nonsense=3');
  is(await ids(page), [], 'a mistake shows no rows of another filter');
  ok((await page.textContent('#status')).includes('no field nonsense'), 'a mistake is told', await page.textContent('#status'));
  is(await page.getAttribute('#tools input', 'aria-invalid'), 'true', 'and marked');
  await filterBy(page, 'user=x');
  ok((await page.textContent('#status')).includes('stallclassify --where'), 'a field that only dumps have is told');
  await filterBy(page, '"');
  await filterBy(page, '');
  is((await ids(page)).length, all.length, 'an empty filter shows all again');

  await page.click('.facet summary:has-text("version")');
  await page.click('.facet[open] label:has-text("5.3.0")');
  const some = await ids(page);
  ok(some.length > 0 && some.length < all.length, 'a facet selects', some);
  ok((await page.evaluate(() => location.hash)).includes('version=5.3.0'), 'the fragment has the facet');
  await page.keyboard.press('Escape');
  await page.click('button:has-text("clear")');
  is((await ids(page)).length, all.length, 'clear clears');
  is(page.said, [], 'the console has said nothing');
  await page.context().close();
  return all;
}

async function openBuckets(file, all) {
  const page = await open(file);
  await page.click('#buckets tbody tr:first-child a');
  ok((await page.textContent('.inside')).includes('Heaviest stack'), 'a click on a bucket opens it');
  is(await page.evaluate(() => location.hash), '#b=' + all[0], 'the fragment has the bucket');
  ok(await page.isVisible('.inside .stack li.app'), 'frames of the app are marked');
  const first = await page.textContent('.inside .dumps dl');
  await page.keyboard.press('n');
  ok((await page.textContent('.inside .dumps dl')) !== first, 'n steps to the next stored dump');
  await page.keyboard.press('p');
  is(await page.textContent('.inside .dumps dl'), first, 'p steps back');
  ok((await page.getAttribute('.inside cite a', 'href')).startsWith('https://git.example/5.3.1/Shop/'), 'a line of source is linked');
  ok((await page.$$('.inside .flame-graph svg rect')).length > 5, 'it has a flame graph');
  await shot(page, 'open');
  await page.keyboard.press('Escape');
  is(await page.$('.inside'), null, 'Escape closes it');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  is(await page.evaluate(() => location.hash), '#b=' + all[2], 'j, k and Enter walk and open');
  await page.keyboard.press('/');
  is(await page.evaluate(() => document.activeElement.type), 'search', '/ goes to the filter');
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  ok(await page.isVisible('dialog'), '? shows the help');
  await shot(page, 'help');
  is(page.said, [], 'the console has said nothing');
  await page.context().close();

  const far = await open(file, {viewport: {width: 1280, height: 300}}, '#b=' + all[all.length - 1]);
  ok(await far.evaluate(() => { const box = document.querySelector('tr.opened').getBoundingClientRect(); return box.top >= 0 && box.top < 300; }), 'a link to a bucket scrolls to it');
  await far.context().close();
  const linked = await open(file, {}, '#' + all[3]);
  is(await linked.getAttribute('.inside td > div', 'id'), all[3], 'a link to #ID opens the bucket');
  await linked.context().close();
  const state = await open(file, {}, '#b=' + all[1] + '&q=title~.&sort=-stalls&version=5.3.1');
  is(await state.inputValue('#tools input'), 'title~.', 'a link has the filter');
  is(await state.getAttribute('th[data-sort=stalls]', 'aria-sort'), 'descending', 'and the order');
  is(await state.getAttribute('.inside td > div', 'id'), all[1], 'and the bucket');
  is(state.said, [], 'the console has said nothing');
  await state.context().close();
}

async function readPlainly(file, all) {
  const plain = await open(file, {javaScriptEnabled: false});
  is((await ids(plain)).length, all.length, 'without JavaScript the table has all buckets');
  ok(!(await plain.isVisible('#tools')), 'and no tools that would do nothing');
  await plain.click('details.bucket summary');
  ok(await plain.isVisible('details.bucket .stack li.app'), 'details open');
  await plain.goto('file://' + file + '#' + all[1]);
  ok(await plain.isVisible('[id="' + all[1] + '"] h3'), 'a link to #ID opens one');
  await shot(plain, 'plain');
  await plain.context().close();

  const dark = await open(file, {colorScheme: 'dark'}, '#' + all[0]);
  const [ink, page] = await dark.evaluate(() => [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor].map((c) => c.match(/\d+/g).slice(0, 3).reduce((s, v) => s + Number(v), 0)));
  ok(page < 150 && ink > 500, 'dark: light letters on a dark page', [ink, page]);
  await shot(dark, 'dark');
  await dark.context().close();

  const narrow = await open(file, {viewport: {width: 400, height: 800}}, '#' + all[0]);
  ok(await narrow.evaluate(() => document.documentElement.scrollWidth <= 400), '400 pixels: nothing is wider', await narrow.evaluate(() => document.documentElement.scrollWidth));
  ok(await narrow.isVisible('.inside .stack'), 'and a bucket can be read');
  ok(await narrow.isVisible('#buckets tbody tr:first-child td:nth-child(6)'), 'and how many users have it');
  await shot(narrow, 'narrow');
  await narrow.context().close();

  const print = await open(file, {}, '#' + all[0]);
  await print.emulateMedia({media: 'print'});
  ok(!(await print.isVisible('#tools')) && await print.isVisible('.inside .stack'), 'on paper there are no tools, and the open bucket');
  await print.context().close();
}

// A page of many buckets draws the first rows alone; paper has all of them, in full.
async function printsAllRows() {
  const many = Array.from({length: 90}, (x, i) => plainDump('p' + i, 'list').replace('["parse"]', '["parse' + i + '"]').replace('["load"]', '["load' + i + '"]')).join('');
  const page = await open(write('many', ['-'], many));
  ok((await ids(page)).length < 90, 'of many buckets the first rows are drawn', (await ids(page)).length);
  await page.pdf({format: 'A4'});
  is((await ids(page)).length, 90, 'on paper there are all rows');
  await page.emulateMedia({media: 'print'});
  await page.setViewportSize({width: 720, height: 1000});
  ok(await page.evaluate(() => document.documentElement.scrollWidth <= 720), 'and nothing is wider than the paper', await page.evaluate(() => document.documentElement.scrollWidth));
  is(await page.$$eval('button', (nodes) => nodes.filter((n) => !n.closest('th') && n.offsetParent).map((n) => n.textContent)), [], 'and no buttons');
  is(page.said, [], 'the console has said nothing');
  await page.context().close();
}

async function isLabelled(file) {
  const page = await open(file, {}, '#b=');
  const unnamed = await page.evaluate(() => [...document.querySelectorAll('button, input, svg, dialog, [role=region]')].filter((n) => !n.getAttribute('aria-label') && !n.textContent.trim() && !n.closest('label')).map((n) => n.outerHTML));
  is(unnamed, [], 'what can be used has a name for screen readers');
  const doubled = await page.evaluate(() => { const seen = [...document.querySelectorAll('[id]')].map((n) => n.id); return seen.filter((id, i) => seen.indexOf(id) !== i); });
  is(doubled, [], 'every id is there once');
  await page.context().close();
}

// What a page is made of: each element with its attributes.
const makings = (page) => page.evaluate(() => [...new Set([...document.querySelectorAll('*')].flatMap((n) => [n.tagName.toLowerCase(), ...n.getAttributeNames().map((a) => n.tagName.toLowerCase() + '[' + a + ']')]))].sort());
const foreign = (page) => page.$$eval('[href], [src], [action], [srcset], [data], [formaction]', (nodes) => nodes.flatMap((n) => [...n.attributes]).filter((a) => /^(href|src|action|srcset|data|formaction)$/.test(a.name))
  .map((a) => a.value).filter((v) => !/^(https:\/\/(git|safe)\.example\/|#)/.test(v)));

// Opens every row, dump and facet of a page.
async function openAll(page, options) {
  await page.$$eval('details', (nodes) => { for (const node of nodes) { node.open = true; } });
  if (options.javaScriptEnabled === false) { return new Set(await makings(page)); }
  const seen = new Set(await makings(page)), rows = (await ids(page)).length;
  for (let i = 0; i < rows; i++) {
    for (const key of ['j', 'Enter', 'n']) { await page.keyboard.press(key); }
    await page.$$eval('.inside details', (nodes) => { for (const node of nodes) { node.open = true; } });
    for (const what of await makings(page)) { seen.add(what); }
    await page.keyboard.press('Enter');
  }
  await filterBy(page, 'title~hacked');
  await filterBy(page, '');
  return seen;
}

// Tests that a page of hostile texts is made of what a page of harmless ones is made of.
async function isMadeOf(name, file, harmlessFile) {
  const text = fs.readFileSync(file, 'utf8');
  ok(!/<img|onerror=top\.hacked=1>|<script>top|<!--|<!\[CDATA|<base/.test(text), name + ': hostile names are no markup');
  ok(!/[\u202a-\u202e\u2066-\u2069\x1b\0]/.test(text), name + ': and turn or hide nothing');
  for (const options of [{}, {javaScriptEnabled: false}]) {
    const same = await open(harmlessFile, options), want = await openAll(same, options);
    await same.context().close();
    const page = await open(file, options), got = await openAll(page, options);
    const how = name + (options.javaScriptEnabled === false ? ' without JavaScript: ' : ': ');
    is([...got].filter((what) => !want.has(what)), [], how + 'no elements or attributes besides those of harmless names');
    is(await foreign(page), [], how + 'no address leads elsewhere');
    if (options.javaScriptEnabled !== false) { is(await page.evaluate(() => [window.hacked, Object.keys(Object.prototype).length]), [null, 0], how + 'no script of theirs runs'); }
    if (options.javaScriptEnabled !== false) { await shot(page, name.replace(/ /g, '-')); }
    is(page.said, [], how + 'the console has said nothing');
    await page.context().close();
  }
}

async function resistsHostileNames() {
  is(missing(), [], 'the hostile dumps have each member of a dump that the manual tells');
  const args = ['--source-url', 'https://git.example/%v/%f#L%l', '-'];
  const file = write('hostile', args, hostile()), same = write('harmless', args, harmless());
  await isMadeOf('hostile names', file, same);
  const partial = folder + '/harmless.partial';
  execFileSync(stallclassify, ['--partial', '-o', partial, '-'], {input: harmless('former')});
  await isMadeOf('hostile names and a gate', write('hostile-gate', ['--baseline', partial, ...args], hostile()), write('harmless-gate', ['--baseline', partial, ...args], harmless()));
  const injected = folder + '/injected.html', text = fs.readFileSync(file, 'utf8');
  fs.writeFileSync(injected, text.replace('<h1>', '<script>window.hacked=1</script><img src=x onerror="window.hacked=2"><p style="position:fixed"><h1>'));
  const page = await open(injected);
  is(await page.evaluate(() => [window.hacked, getComputedStyle(document.querySelector('p')).position]), [null, 'static'], 'the policy holds where a text would not be escaped');
  ok(page.said.some((m) => m.includes('Content Security Policy')), 'and the browser says so');
  await page.context().close();
}

const LINKS = ['javascript:top.hacked=1', ' javascript:top.hacked=1', 'JaVaScRiPt:top.hacked=1', 'java\nscript:top.hacked=1', 'data:text/html,<script>top.hacked=1</script>', 'vbscript:x', 'file:///etc/passwd', '//evil.example/', 'https:evil',
  'blob:https://evil.example/1', 'https://safe.example/" onclick="top.hacked=1'];

// A history of the dumps with a mark of each kind for each bucket; a forged file may have any text as a mark.
function markedHistory(name, input, texts, links) {
  const db = folder + '/' + name, marks = JSON.stringify({texts, links});
  execFileSync(stallclassify, ['--history', db, '-F', 'none', '-'], {input, stdio: ['pipe', 'ignore', 'ignore']});
  execFileSync('python3', ['-c', `
import json, sqlite3, sys
told, db = json.loads(sys.stdin.read()), sqlite3.connect(sys.argv[1])
buckets = [b for (b,) in db.execute("SELECT id FROM bucket ORDER BY id")]
for n, bucket in enumerate(buckets):
    for mark in ("owner", "note", "link", "fixed-in", "ignore"):
        text = told["links" if mark == "link" else "texts"][n % len(told["links" if mark == "link" else "texts"])]
        db.execute("INSERT INTO mark VALUES(?, ?, CAST(? AS TEXT), '2026-11-20')", (bucket, mark, text.encode("utf-8", "replace")))
db.execute("UPDATE bucket SET title = ? WHERE id = ?", (told["texts"][0], buckets[0]))
db.commit()`, db], {input: marks});
  return db;
}

async function resistsHostileMarks() {
  const texts = [...TEXTS, ...LINKS], db = markedHistory('marks.db', hostile(), texts, [...LINKS, ...texts]);
  const same = markedHistory('harmless.db', harmless(), texts.map((text, i) => 'name' + i), ['https://safe.example/1', 'none']);
  const args = ['--source-url', 'https://git.example/%v/%f#L%l', '--history'];
  await isMadeOf('hostile marks', write('marks', [...args, db]), write('harmless-marks', [...args, same]));
  const page = await open(write('marks-again', [...args, db]));
  is(await page.$$eval('a[href]', (nodes) => nodes.filter((n) => n.protocol !== 'https:' && n.protocol !== 'file:').length), 0, 'a mark that is no web address is no link');
  await page.context().close();
}

// The other outputs that a browser, a CI server or a database of metrics reads.
async function resistsElsewhere() {
  const input = hostile(), run = (tool, args) => execFileSync(stallclassify.replace(/stallclassify$/, tool), args, {input, maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'ignore']}).toString();
  const page = await browser.newPage();
  const parsed = (text, type) => page.evaluate(([t, kind]) => { const d = new DOMParser().parseFromString(t, kind); return [...new Set([...d.querySelectorAll('*')].flatMap((n) => [n.tagName, ...n.getAttributeNames().map((a) => n.tagName + '[' + a + ']')]))].sort(); }, [text, type]);
  const harmlessly = (tool, args) => execFileSync(stallclassify.replace(/stallclassify$/, tool), args, {input: harmless(), maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'ignore']}).toString();
  for (const [name, tool, args, type] of [['JUnit', 'stallclassify', ['-F', 'junit', '-'], 'application/xml'], ['the SVG', 'stallflame', ['-'], 'image/svg+xml'],
    ['the SVG by thread and version', 'stallflame', ['--by', 'thread', '--by', 'version', '-'], 'image/svg+xml']]) {
    const want = await parsed(harmlessly(tool, args), type), got = await parsed(run(tool, args), type);
    is(got.filter((what) => !want.includes(what)), [], name + ' of hostile names: no elements or attributes besides those of harmless ones');
  }
  await page.close();
  const svg = folder + '/hostile.svg', drawn = await browser.newPage(), said = [];
  fs.writeFileSync(svg, run('stallflame', ['-']));
  drawn.on('console', (m) => said.push(m.text()));
  drawn.on('pageerror', (e) => said.push(e.message));
  drawn.on('request', (r) => { if (!r.url().startsWith('file:')) { said.push(r.url()); } });
  await drawn.goto('file://' + svg);
  is([await drawn.evaluate(() => window.hacked), said], [null, []], 'the SVG of hostile names runs nothing');
  await drawn.close();
}

// metrics.prom, which --watch writes: each line is of Prometheus' text form.
async function writesMetrics() {
  const inbox = folder + '/in', out = folder + '/out';
  fs.mkdirSync(inbox);
  fs.mkdirSync(out);
  fs.writeFileSync(folder + '/arrives.jsonl', hostile());
  fs.renameSync(folder + '/arrives.jsonl', inbox + '/a.jsonl');
  const watch = spawn(stallclassify, ['--history', folder + '/watched.db', '--watch', inbox, '--out', out], {stdio: 'ignore'});
  for (let i = 0; i < 300 && !fs.existsSync(out + '/metrics.prom'); i++) { await new Promise((done) => setTimeout(done, 100)); }
  watch.kill('SIGTERM');
  await new Promise((done) => watch.on('exit', done));
  const lines = fs.readFileSync(out + '/metrics.prom', 'utf8').split('\n').filter((line) => line);
  const form = /^(# (HELP|TYPE) [a-z_:]+ .*|[a-z_:]+(\{([a-z_]+="([^"\\]|\\["\\n])*",?)*\})? -?[0-9.e+]+)$/;
  ok(lines.length > 20, 'metrics.prom has lines', lines.length);
  is(lines.filter((line) => !form.test(line) || /[\x00-\x1f\u202a-\u202e\u2066-\u2069]/.test(line)).slice(0, 3), [], 'metrics.prom of hostile names has the form of Prometheus');
}

async function endsRegularExpressions() {
  const dump = hostileDump('x', 0);
  dump.context.screen = 'a'.repeat(40) + '!';
  const page = await open(write('slow', ['-'], JSON.stringify(dump) + '\n'));
  const before = Date.now();
  await page.fill('#tools input[type=search]', 'context.screen~"^(([a-z])+.)+[A-Z]([a-z])+$"');
  await page.waitForFunction(() => document.getElementById('status').textContent.includes('200 ms'), null, {timeout: 3000});
  ok(Date.now() - before < 2000, 'a regular expression that takes too long is ended, and that is said', Date.now() - before);
  await page.fill('#tools input[type=search]', 'context.screen~^a+');
  await page.waitForFunction(() => document.getElementById('status').textContent.includes('1 of 1'), null, {timeout: 3000});
  ok(true, 'the next one runs');
  is(page.said, [], 'the console has said nothing');
  await page.context().close();
}

async function namesWhatTheGateCounts() {
  const partial = folder + '/list.partial', many = (letter, count, caller) => Array.from({length: count}, (x, i) => plainDump(letter + i, caller)).join('');
  execFileSync(stallclassify, ['--partial', '-o', partial, '-'], {input: many('a', 60, 'list')});
  const page = await open(write('told', ['--baseline', partial, '-'], many('b', 300, 'list') + many('c', 60, 'search')));
  ok((await page.textContent('.told')).includes('search'), 'the gate names a new stall inside a bucket', await page.textContent('.gate'));
  is(await page.$$eval('#buckets tbody b.new', (nodes) => nodes.map((n) => n.textContent)), ['new inside'], 'whose row is marked');
  is((await column(page, 5))[0], '~' + (await column(page, 5))[0].slice(1), 'a number of users that is an estimate says so');
  await filterBy(page, 'mark="new inside"');
  is((await ids(page)).length, 1, 'a filter finds the mark');
  await page.click('.told a:has-text("search")');
  await page.waitForSelector('.inside');
  ok((await page.textContent('.inside')).includes('relative to all ×'), 'the link opens it, and a ratio says of what it is', await page.textContent('.inside ul'));
  is(page.said, [], 'the console has said nothing');
  await shot(page, 'told');
  await page.context().close();
}

async function tellsVersions() {
  const sessions = folder + '/hours.jsonl';
  fs.writeFileSync(sessions, hoursOf('1.0', 20) + hoursOf('2.0', 16, 0.625));
  const page = await open(write('releases', ['--exposure', sessions, '-'], RELEASES)), rowOf = async (word) => (await column(page, 1)).findIndex((t) => t.startsWith(word));
  const cell = async (word, n) => (await column(page, n))[await rowOf(word)].trim();
  ok((await page.textContent('th[data-sort=trend]')).includes('per hour'), 'with hours the trend says that it has rates');
  is(await cell('steady', 9), '\u2588\u2588\u00b7', 'what is as frequent in each hour has a flat trend, and a version with one dump a dot');
  is([await cell('mended', 9), await cell('fresh', 9)], ['\u2588_\u00b7', '_\u2588\u00b7'], 'none is not a dot');
  is(await page.$$eval('.versions tbody tr', (rows) => rows.map((r) => Array.from(r.cells, (c) => c.textContent).join(' ').trim())),
    ['9.9-dev 1 3.0s unknown unknown too little to tell', '2.0 135 6m45s 10.0 62% 13.5 40.5s', '1.0 168 8m24s 20.0 100% 8.40 25.2s'], 'a table has the rates of each version');
  is([await cell('mended', 10), await cell('fresh', 10), await cell('dies', 10), await cell('stray', 10)], ['fixed in 2.0 little watched in 2.0', 'new in 2.0', '8 fatal', ''], 'rows say what is fixed, new and fatal');
  for (const [text, words] of [['state=fixed', ['mended']], ['fixed', ['mended']], ['mark=new', ['fresh']], ['fatal>0', ['dies']], ['fatal', ['dies']], ['state=open fatal=0', ['steady', 'grows', 'stray']]]) {
    await filterBy(page, text);
    is((await column(page, 1)).map((t) => t.split(' ')[0]).sort(), words.sort(), 'the filter ' + text + ' finds these');
  }
  for (const [text, said] of [['stalls>abc', 'stalls is a number'], ['users>>3', 'users is a number'], ['app.version>=v2', 'app.version can be compared'], ['context.screen=Editor', 'have no context.screen'], ['state=closed', 'state is one of']]) {
    await filterBy(page, text);
    ok((await page.textContent('#status')).includes(said) && (await ids(page)).length === 0, 'the filter ' + text + ' is told to be wrong', await page.textContent('#status'));
  }
  await filterBy(page, '');
  await page.click('th[data-sort=trend] button');
  is((await column(page, 1)).map((t) => t.split(' ')[0]).slice(0, 2).concat((await column(page, 1)).pop().split(' ')[0]), ['fresh', 'grows', 'mended'], 'sorted by the trend, what grows most comes first');
  await page.click('th[data-sort=marks] button');
  is((await column(page, 1)).map((t) => t.split(' ')[0]).slice(0, 3), ['fresh', 'mended', 'dies'], 'sorted by marks, what most needs a look comes first');
  const all = await column(page, 3);
  await page.click('button:has-text("worst in 2.0")');
  is(await column(page, 0), ['1', '2', '3'], 'the newest version has ranks of its own');
  is([(await column(page, 1)).map((t) => t.split(' ')[0]), await column(page, 3), await column(page, 6), await column(page, 4)], [['fresh', 'grows', 'steady'], ['2m30s', '2m15s', '2m00s'], ['50', '45', '40'], ['37.0%', '33.3%', '29.6%']],
    'and its own lost time, stalls and shares');
  ok((await page.textContent('#status')).includes('are of 2.0 alone'), 'which is said', await page.textContent('#status'));
  await page.click('button:has-text("clear")');
  await page.click('th[data-sort=marks] button');
  is(await column(page, 3), all, 'and afterwards the numbers are those of all again');
  is(page.said, [], 'the console has said nothing');
  await shot(page, 'releases');
  await page.context().close();
  const without = await open(write('shares', ['-'], RELEASES + stallsIn('unsaid', '2.0', 10) + stallsIn('unsaid', undefined, 30)));
  ok((await without.textContent('th[data-sort=trend]')).includes('share') && (await without.getAttribute('th[data-sort=trend] button', 'title')).includes('hours are not known'), 'without hours the trend says that it has shares');
  await without.click('button:has-text("worst in 2.0")');
  const unsaid = (await column(without, 1)).findIndex((t) => t.startsWith('unsaid'));
  is([(await column(without, 6))[unsaid], (await column(without, 3))[unsaid]], ['10', '30.0s'], 'dumps without a version are in the numbers of none');
  await without.context().close();
}

async function tellsTheData() {
  const sessions = folder + '/short.jsonl', clocks = stallsIn('late', '1.0', 2).split('\n').filter(Boolean).map((line, i) => line.replace(/"time":"[^"]*"/, '"time":"' + ['2026-13-45T00:00:00Z', '1970-01-01T00:00:09Z'][i] + '"') + '\n').join('');
  fs.writeFileSync(sessions, hoursOf('1.0', 0.1, 0.5));
  const few = await open(write('few', ['--exposure', sessions, '--where', 'app.version=1.0', '--top', '1', '-'], stallsIn('slow', '1.0', 4) + stallsIn('other', '1.0', 1) + clocks));
  const head = await few.textContent('header'), facts = await few.textContent('main > section[aria-label="what was read"]'), warned = await few.$$eval('.facts .warns', (nodes) => nodes.map((n) => n.previousSibling.textContent));
  is(await few.title(), 'Stalls of Shop', 'the title names the app');
  ok(head.includes('the newest of 2026-11-23 10:00 UTC'), 'the head tells the newest dump', head);
  ok(head.includes('Only a part: dumps with app.version=1.0; the first 1 of 3 buckets'), 'and what narrows the page', head);
  is(warned, ['few data', 'without a day', 'rates', 'watched'], 'what is less sure than it looks is marked');
  ok(facts.includes('watched for 3m00s in the foreground, which is too short') && !facts.includes('in an hour'), 'no rate is told of three minutes', facts);
  ok(facts.includes('2 dumps are in no day') && !/1970|-13-/.test(facts), 'dates that are none, or of a clock that was not set, are told', facts);
  ok(facts.includes('a stall counts 30.0s of lost time at most'), 'the cap is said', facts);
  is(few.said, [], 'the console has said nothing');
  await few.context().close();
  const onSystem = (os, text) => text.replace(/"user":/g, '"device":{"os":"' + os + '"},"user":');
  const systems = await open(write('systems', ['-'], onSystem('iOS 18.7', stallsIn('slow', '1.0', 6)) + onSystem('iOS 17.1', stallsIn('slow', '1.1', 4)) + onSystem('iOS 17.1', stallsIn('other', '1.0', 10))));
  await systems.click('#buckets tbody tr:has-text("slow") a');
  ok((await systems.textContent('.inside')).includes('iOS 18.7 60.0% (all 30.0%), iOS 17.1 40.0% (all 70.0%) of its dumps'), 'the shares of systems stand beside those of all dumps', await systems.textContent('.inside dl'));
  await systems.context().close();
  const gap = await open(write('gap', ['-'], stallsIn('slow', '1.0', 3).replace('2026-11-21', '2026-11-24')));
  ok((await gap.textContent('.charts')).includes('none on 2026-11-21, 2026-11-23'), 'days on which nothing came are told', await gap.textContent('.charts'));
  await gap.context().close();
  fs.writeFileSync(sessions, hoursOf('1.0', 20000) + hoursOf('2.0', 16, 0.625));
  const narrow = await open(write('narrow', ['--exposure', sessions, '-'], RELEASES + stallsIn('steady', '11.22.33-beta.1234567', 12)), {viewport: {width: 400, height: 800}});
  const wide = await narrow.$$eval('table.versions, table.versions *', (nodes) => Math.max(...nodes.map((n) => n.getBoundingClientRect().right)));
  ok(wide <= 400 && await narrow.evaluate(() => document.documentElement.scrollWidth) <= 400, 'on a narrow screen the table of versions is no wider', wide);
  await narrow.selectOption('#sorts', 'stalls');
  await narrow.waitForFunction(() => location.hash.includes('sort=-stalls'));
  ok((await column(narrow, 1))[0].startsWith('steady') && await narrow.isVisible('#buckets tbody tr:first-child td:nth-child(8)'), 'on a narrow screen a list has the orders, and rows have all numbers');
  await narrow.click('#buckets tbody tr:first-child a');
  const shades = await narrow.$$eval('tr.opened > td', (cells) => [...new Set(cells.map((c) => getComputedStyle(c).backgroundColor))]);
  is(shades.length, 1, 'an open row has one background', shades);
  await narrow.context().close();
}

// The lines to paste of a page of a history work, in the folder of the history.
async function notesInAHistory() {
  const db = folder + '/a history.db';
  try { execFileSync(stallclassify, ['--history', db, '-F', 'none', '-'], {input: RELEASES, stdio: ['pipe', 'pipe', 'pipe']}); } catch (e) {
    if (String(e.stderr).includes('libsqlite3')) { return; }
    throw e;
  }
  const page = await open(write('history', ['--history', db, '--detail', '1', '--since', '2026-11-20'])), head = await page.textContent('header');
  ok(head.includes('Only a part: days from 2026-11-20 on'), 'a page of some days says so', head);
  is(await page.title(), 'Stalls of Shop', 'a history knows the app');
  for (const row of [1, 2]) {
    await page.click('#buckets tbody tr:not(.inside):nth-of-type(' + row + ') td:first-child');
    const lines = await page.$$eval('.inside .paste', (nodes) => nodes.map((n) => n.textContent)), mark = lines.find((line) => line.includes('--mark'));
    ok(mark && !lines.some((line) => line.includes('DUMPS')), 'a bucket of a history has lines that need no dumps', lines);
    ok(lines.some((line) => /^stallclassify --history .* --explain [0-9a-f]{12}$/.test(line)), 'one of which explains it', lines);
    for (const line of lines) {
      execFileSync('sh', ['-c', line.replace('stallclassify', '"$0"').replace('report.html', '/dev/null'), stallclassify], {stdio: 'pipe'});
    }
    await page.keyboard.press('Escape');
  }
  is(execFileSync(stallclassify, ['--history', db, '--marks'], {encoding: 'utf8'}).match(/owner NAME/g).length, 2, 'and they do what they say');
  const marked = await open(write('marked', ['--history', db, '--where', 'owner=NAME']));
  ok((await marked.textContent('header')).includes('buckets with owner=NAME, while sums and pictures are of all'), 'a page of the buckets of an owner says so');
  await marked.context().close();
  is(page.said, [], 'the console has said nothing');
  await page.context().close();
}

async function comparesRuns() {
  const partial = folder + '/base.partial';
  execFileSync(stallclassify, ['--partial', '-o', partial, ...OURS, '--where', 'app.version=5.3.0']);
  const page = await open(write('gate', ['--baseline', partial, ...OURS]));
  ok((await page.textContent('.gate h2')).startsWith('Gate: '), 'with a baseline the head has the verdict', await page.textContent('.gate h2'));
  await page.click('#buckets tbody tr:first-child a');
  ok((await page.textContent('.inside')).includes('Before and after'), 'and a bucket, before and after');
  is(page.said, [], 'the console has said nothing');
  await shot(page, 'gate');
  await page.context().close();
  const merged = folder + '/all.partial';
  execFileSync(stallclassify, ['--partial', '-o', merged, ...OURS]);
  const from = await open(write('merged', ['--merge', merged]));
  await from.click('#buckets tbody tr:first-child a');
  ok(await from.isVisible('.inside .stack li.app'), 'a page of partials has one stack of each bucket');
  is(from.said, [], 'the console has said nothing');
  await from.context().close();
  const none = await open(write('none', ['--where', 'app.version=0', ...OURS]));
  ok((await none.textContent('.totals')).startsWith('0 stalls') && (await none.textContent('main')).includes('No bucket: '), 'a page of nothing says so');
  is(none.said, [], 'the console has said nothing');
  await none.context().close();
}

(async () => {
  browser = await chromium.launch({executablePath, args: ['--no-sandbox']});
  const file = write('ours', ['--source-url', 'https://git.example/%v/%f#L%l', ...OURS]);
  const all = await useTable(file);
  await openBuckets(file, all);
  await readPlainly(file, all);
  await printsAllRows();
  await isLabelled(file);
  await resistsHostileNames();
  await resistsHostileMarks();
  await resistsElsewhere();
  await writesMetrics();
  await endsRegularExpressions();
  await tellsVersions();
  await tellsTheData();
  await notesInAHistory();
  await comparesRuns();
  await namesWhatTheGateCounts();
  await browser.close();
  console.log('1..' + number);
  process.exit(failed ? 1 : 0);
})().catch((e) => { console.log('Bail out! ' + e.stack.split('\n').slice(0, 4).join(' | ')); process.exit(1); });
