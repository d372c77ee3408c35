// The JavaScript of scripts/test/viewers. `viewers.js schema FILE`: checks a file against speedscope's own schema. `viewers.js open BROWSER
// FILE`: opens it in speedscope's page and prints the functions that its sandwich view lists.
'use strict';
const fs = require('fs');
const path = require('path');
const speedscope = path.join(__dirname, '../../build/npm/node_modules/speedscope/dist/release');

function checkSchema(file) {
  const Ajv = require('ajv');
  const schema = JSON.parse(fs.readFileSync(path.join(speedscope, 'file-format-schema.json'), 'utf8'));
  const check = new Ajv({strict: false}).compile(schema);
  console.log(check(JSON.parse(fs.readFileSync(file, 'utf8'))) ? 'valid' : JSON.stringify(check.errors, null, 1));
}

// As speedscope's own command does: a script that hands the file to the page.
async function openPage(executablePath, file) {
  const {chromium} = require('playwright-core');
  const script = file + '.js';
  const base64 = fs.readFileSync(file).toString('base64');
  fs.writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(path.basename(file))}, ${JSON.stringify(base64)})`);
  const browser = await chromium.launch({executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--allow-file-access-from-files']});
  try {
    const page = await browser.newPage();
    await page.goto('file://' + path.join(speedscope, 'index.html') + '#localProfilePath=' + script);
    await page.waitForFunction(() => document.title.includes('Stalled time'), null, {timeout: 30000});
    await page.keyboard.press('3');  // the sandwich view
    await page.waitForSelector('table tr td');
    const names = await page.$$eval('table tr', rows => rows.map(row => row.cells.length >= 3 ? row.cells[row.cells.length - 1].innerText.trim() : '').filter(name => name && name !== 'Symbol Name'));
    console.log([...new Set(names)].join('\n'));
  } finally {
    await browser.close();
  }
}

const [, , verb, ...rest] = process.argv;
if (verb === 'schema') {
  checkSchema(rest[0]);
} else {
  openPage(...rest).catch(error => { console.error(String(error)); process.exit(1); });
}
