import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Hono } from 'hono';

const PAGE = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <title>Text Model Training and Inference Service</title>
  <link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
  <div id="reference"></div>
  <script src="/docs/swagger-ui-bundle.js"></script>
  <script>SwaggerUIBundle({ url: '/openapi.json', dom_id: '#reference', validatorUrl: null });</script>
</body>
</html>
`;

/** Files of swagger-ui-dist that the page loads: everything comes from this server. */
const assets = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
} as const;

/** The reference of all operations, drawn from /openapi.json by Swagger UI. */
export function referencePage(): Hono {
  const page = new Hono();
  page.get('/', (context) => context.html(PAGE));
  for (const [name, type] of Object.entries(assets)) {
    page.get(`/${name}`, async (context) =>
      context.body(await assetText(name), {
        headers: { 'content-type': type, 'cache-control': 'max-age=3600' },
      }),
    );
  }
  return page;
}

function assetText(name: string): Promise<string> {
  return readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`), 'utf8');
}
