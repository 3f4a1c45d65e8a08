// Keeps all files of the page, so that it opens without a network. The build writes FILES and VERSION above this line.

addEventListener('install', (event) => {
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll(FILES)));
});

addEventListener('activate', (event) => {
  const removeOld = async () => {
    for (const name of await caches.keys()) if (name !== VERSION) await caches.delete(name);
  };
  event.waitUntil(removeOld());
});

addEventListener('fetch', (event) => {
  // Some servers answer with `Vary: Origin`. Requests for scripts have the header Origin, but those of `addAll` don't.
  const kept = caches.match(event.request, { ignoreVary: true });
  event.respondWith(kept.then((response) => response ?? fetch(event.request)));
});
