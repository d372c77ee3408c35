// Handles the keyboard, shows the help, and starts the page.

const KEY_HELP = [['/', 'filter'], ['j, k', 'next bucket, the one before'], ['Enter', 'open or close it'], ['n, p', 'next dump of the open bucket, the one before'], ['Escape', 'close what is open, leave the filter'], ['?', 'this help']];
const FILTER_HELP = 'Terms are separated by white space, and all of them must hold. A word alone is looked for in the titles, and is also taken for a cause, a mark or the beginning of an id. A term is a field, one of = != < <= > >= ~ !~ and a value, in double '
  + 'quotes if it has white space; ~ takes an extended regular expression. A term holds for a bucket if one of its dumps has such a value, one with ! if none has. Fields: ' + Object.keys(FIELDS).join(', ') + '.';
const dialog = make('dialog', {'aria-label': 'help'}, make('h2', {}, 'Keys'),
  make('dl', {class: 'facts'}, ...KEY_HELP.flatMap(([key, what]) => [make('dt', {}, make('kbd', {}, key)), make('dd', {}, what)])), make('h2', {}, 'Filter'), make('p', {}, FILTER_HELP),
  make('button', {type: 'button'}, 'close'));
document.body.append(dialog);
dialog.lastChild.addEventListener('click', () => dialog.close());
help.addEventListener('click', () => dialog.showModal());

function step(by) {
  const at = focused && shown.includes(focused) ? shown.indexOf(focused) + by : 0;
  if (at < 0 || at >= shown.length) { return; }
  while (at >= drawn) { drawMore(); }
  focus(shown[at]);
}

const ACTIONS = {
  '/': () => { filter.focus(); filter.select(); },
  j: () => step(1),
  k: () => step(-1),
  Enter: () => { if (focused) { open(opened === focused ? null : focused); } },
  n: () => { for (const node of inside.querySelectorAll('.dumps')) { node.step(1); } },
  p: () => { for (const node of inside.querySelectorAll('.dumps')) { node.step(-1); } },
  '?': () => dialog.showModal(),
  Escape: () => {
    const facet = [...facetNodes.values()].find((node) => node.open);
    if (facet) { facet.open = false; } else if (opened) { open(null); }
  },
};

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) { return; }
  if (event.target === filter) {
    if (event.key === 'Escape') { // otherwise the browser would empty the box
      filter.blur();
      event.preventDefault();
    }
    if (event.key === 'Enter' && shown.length) { focus(shown[0]); event.preventDefault(); }
    return;
  }
  const own = event.target.closest('button, a, summary, input');
  const action = own && event.key === 'Enter' ? null : ACTIONS[event.key];
  if (action) {
    action();
    event.preventDefault();
  }
});

addEventListener('hashchange', () => { if (location.hash !== written) { restore(); } });
restore().then(() => performance.mark('usable'));
