import { readFile } from 'node:fs/promises';
import type { Hono } from 'hono';
import { ownFile } from '../own-files.js';
import { type StaticFile, staticFiles } from './static-file.js';

const PAGE = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <title>Text Model Training and Inference Service</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
  <div id="reference"></div>
  <script src="/docs/swagger-ui-bundle.js"></script>
  <script src="/docs/start.js"></script>
</body>
</html>
`;
/** In a file of its own, since the page's policy runs no script that lies in the markup. */
const START = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#reference', validatorUrl: null });\n`;

const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const AN_HOUR = 'max-age=3600';

/** Everything that the page loads comes from this server. */
const files: readonly StaticFile[] = [
  { path: '/', type: 'text/html; charset=utf-8', read: async () => PAGE },
  { path: '/start.js', type: SCRIPT, cacheControl: AN_HOUR, read: async () => START },
  { path: '/swagger-ui.css', type: CSS, cacheControl: AN_HOUR, read: () => asset('swagger-ui.css') },
  {
    path: '/swagger-ui-bundle.js',
    type: SCRIPT,
    cacheControl: AN_HOUR,
    read: () => asset('swagger-ui-bundle.js'),
  },
];

/** Swagger UI styles by attributes, and its icons are data: URLs. */
const policy = { styleSrc: ["'self'", "'unsafe-inline'"], imgSrc: ["'self'", 'data:'] };

/** The reference of all operations, drawn from /openapi.json by Swagger UI. */
export function referencePage(): Hono {
  return staticFiles(files, policy);
}

/** The build copies the files of Swagger UI. @throws InstallationError where a bundle has left them out. */
async function asset(name: string): Promise<Uint8Array> {
  const beside = () => new URL(/* webpackIgnore: true */ './reference/swagger-ui-bundle.js', import.meta.url);
  return readFile(new URL(name, ownFile('reference/swagger-ui-bundle.js', beside)));
}
