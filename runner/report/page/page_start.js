// The colours, and the order in which the sections are made.

// The reader's system decides, until the button does.
function theme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  const apply = () => {
    document.documentElement.dataset.theme = chosen || (dark.matches ? 'dark' : 'light');
    document.dispatchEvent(new Event('theme'));
  };
  dark.addEventListener('change', apply);
  document.getElementById('theme').addEventListener('click', () => {
    chosen = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    apply();
  });
  let before = null;
  addEventListener('beforeprint', () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = 'light';
    document.dispatchEvent(new Event('theme'));
    [...document.querySelectorAll('.group')].slice(0, 20).forEach((group) => group.open());
    table.draw(true);
  });
  addEventListener('afterprint', () => {
    document.documentElement.dataset.theme = before;
    document.dispatchEvent(new Event('theme'));
    table.draw();
  });
  apply();
}

theme();
cards();
table.build(content('calls'));
suspicious();
reasonSection('unchecked', 'fck', 'A crash, a time-out or want of memory is no verdict on the API: such calls have failed to run. Others cannot be checked as they were recorded, or a rule leaves them out.');
unrecorded();
consistency();
reasonSection('doubts', 'm', 'Results that agree where nothing else could be expected: a fault of these calls would not have shown.');
summaries();
visibleFaults();
timeline();
for (const link of document.querySelectorAll('#top a')) if (!document.querySelector(link.getAttribute('href'))) link.remove();
addEventListener('hashchange', followLink);
followLink();
document.documentElement.dataset.ready = 'yes';
