import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vite';

/** Writes service-worker.js with the list of what was built, and a version that changes with it. */
const offline = {
  name: 'offline',
  enforce: 'post',
  generateBundle(_options, bundle) {
    const files = JSON.stringify(['./', ...Object.keys(bundle).filter((name) => name !== 'index.html')]);
    const code = readFileSync('service-worker.js', 'utf8');
    // Except for the page, the name of each file has a hash of its content.
    const all = files + code + bundle['index.html'].source;
    const version = createHash('sha256').update(all).digest('hex').slice(0, 8);
    const source = `const FILES = ${files};\nconst VERSION = '${version}';\n${code}`;
    this.emitFile({ type: 'asset', fileName: 'service-worker.js', source });
  },
};

export default defineConfig({
  base: './',
  plugins: [offline],
  worker: { format: 'es' },
  build: { assetsInlineLimit: 0 },
  // A worker has the policy that its own file is sent with, not that of the page.
  preview: { headers: { 'Content-Security-Policy': "script-src 'self' 'wasm-unsafe-eval'" } },
});
