import { type Html, html } from './html.js';
import { style } from './style.js';

/** Allows the page its own style and nothing else: no scripts and no requests. */
const CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** A self-contained page that loads nothing. @param content of its body */
export function htmlPage(title: string, content: Html): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${CONTENT_POLICY}">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
${content}
</body>
</html>
`;
  return page.text;
}
