/**
 * A plugin of typedoc, for the pages that `npm run docs` writes: guides have the names and the order of GUIDES, and the
 * pages are mended where screen readers or browsers would stumble.
 */
import { basename } from 'node:path';
import { Converter, PageEvent, RendererEvent } from 'typedoc';
import { accessible } from './accessible.mjs';
import { GUIDES } from './guides.mjs';
import { showSources } from './sources.mjs';

/** Below the priority of what puts documents into categories and sorts them. */
const AFTER_SORTING = -2000;
const TITLE = /^\s*# (.+)\n/;
const ORDER = Object.values(GUIDES).flat();

/** The file of each guide, without its extension, by its document. */
const files = new Map();

export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const file = basename(document.name);
    const heading = Object.keys(GUIDES).find((each) => GUIDES[each].includes(file));
    if (heading === undefined) throw new Error(`${document.name} has no place in scripts/site/guides.mjs`);
    document.frontmatter.category = heading;
    plainHeadings(document.content);
    document.name = TITLE.exec(document.content[0]?.text ?? '')?.[1] ?? file;
    files.set(document, file);
  });
  const arrange = ({ project }) => {
    for (const { children } of project.categories ?? [])
      if (children.some((child) => files.has(child))) children.sort((a, b) => placeOf(a) - placeOf(b));
    // The first page has its name as a heading already.
    const [first] = project.readme ?? [];
    if (first) first.text = first.text.replace(TITLE, '');
  };
  app.converter.on(Converter.EVENT_RESOLVE_END, arrange, AFTER_SORTING);
  app.renderer.on(PageEvent.END, (page) => {
    if (page.contents !== undefined) page.contents = accessible(page.contents);
  });
  app.renderer.on(RendererEvent.END, ({ outputDirectory }) => showSources(outputDirectory));
}

const placeOf = (document) => ORDER.indexOf(files.get(document));

/** typedoc leaves code out of the headings that it lists beside a page, so headings have none here. */
function plainHeadings(content) {
  content.forEach((part, at) => {
    const line = content
      .slice(0, at)
      .map(({ text }) => text)
      .join('')
      .split('\n')
      .at(-1);
    if (part.kind !== 'code' || !/^#+ /.test(line ?? '')) return;
    part.kind = 'text';
    part.text = part.text.replaceAll('`', '');
  });
}
