/** A piece of HTML that may be put into a page as it is. */
export class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | Html | readonly Html[] | undefined;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * A template whose values are escaped unless they are {@link Html} themselves, so that a dataset's texts
 * can't become markup, neither between tags nor in quoted attributes. Lists are joined; undefined gives
 * nothing.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(strings.map((text, at) => text + inserted(values[at])).join(''));
}

function inserted(value: Value): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('\n');
  return String(value).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
