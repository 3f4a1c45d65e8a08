// The menu is built in the browser, with links inside of what opens and closes its parts. They are moved beside it.
const menu = document.getElementById('tsd-nav-container');

function moveLinks() {
  for (const link of menu?.querySelectorAll('summary > a') ?? []) {
    const summary = link.parentElement;
    summary.setAttribute('aria-label', link.textContent);
    summary.closest('li').classList.add('linked-part');
    summary.closest('details').before(link);
  }
}

if (menu) {
  new MutationObserver(moveLinks).observe(menu, { childList: true, subtree: true });
  moveLinks();
}
