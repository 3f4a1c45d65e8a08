import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/** Files that servers take for something else: .ts for a video, .mjs for a program. */
const AS_TEXT = ['.ts', '.mts', '.mjs', '.js', '.py', '.md', '.sh'];

/** What a guide links to lies in the site's media/ as it is. Here it becomes text that any browser shows. */
export function showSources(site) {
  const media = join(site, 'media');
  if (!existsSync(media)) return;
  const sources = readdirSync(media).filter((name) => AS_TEXT.includes(extname(name)));
  for (const name of sources) renameSync(join(media, name), join(media, `${name}.txt`));
  const pages = readdirSync(site, { recursive: true }).filter((name) => extname(name) === '.html');
  for (const path of pages.map((page) => join(site, page))) {
    const html = readFileSync(path, 'utf8');
    const linked = html.replaceAll(/(href="[^"]*media\/)([^"/]+)"/g, (link, before, name) =>
      sources.includes(name) ? `${before}${name}.txt"` : link,
    );
    if (linked !== html) writeFileSync(path, linked);
  }
}
