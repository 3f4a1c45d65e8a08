import { type Problem, Refused } from './service.js';

/** @throws if index.html has no such element of that kind */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`index.html has no ${kind.name} with the id ${id}`);
}

/** A new element. Strings among the children are text, never HTML. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<HTMLElementTagNameMap[Tag]> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

/** A table; the first cell of each row is its header. Cells that are numbers align on the right. */
export function table(
  { className = '', columns }: { readonly className?: string; readonly columns: readonly string[] },
  rows: readonly (readonly [first: readonly (Node | string)[], ...rest: readonly Cell[]])[],
): HTMLTableElement {
  const head = columns.map((name) => element('th', { scope: 'col' }, name));
  const body = rows.map(([first, ...rest]) =>
    element('tr', {}, element('th', { scope: 'row' }, ...first), ...rest.map(cell)),
  );
  return element(
    'table',
    { className },
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...body),
  );
}

type Cell = string | { readonly number: string };

function cell(content: Cell): HTMLTableCellElement {
  if (typeof content === 'string') return element('td', {}, content);
  return element('td', { className: 'number' }, content.number);
}

/** Announces to screen readers what the page shows elsewhere. */
export function announce(message: string): void {
  byId('announcements', HTMLElement).textContent = message;
}

/** Offers a file as a download. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  element('a', { href: url, download: name }).click();
  // By then the browser has saved it.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export function shownTime(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}

/** Runs the action of a button, which can't be pressed again until it ends. */
export async function whileBusy(button: HTMLButtonElement, work: () => Promise<void>): Promise<void> {
  if (button.ariaDisabled === 'true') return;
  button.ariaDisabled = 'true'; // `disabled` would lose the keyboard focus
  try {
    await work();
  } finally {
    button.ariaDisabled = null;
  }
}

export function shownProblem(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const end = /[.?!]$/.test(message) ? '' : '.';
  return `${message.slice(0, 1).toUpperCase()}${message.slice(1)}${end}`;
}

/** The field of a form for each path in a request, by the last part of the path. */
export type Fields = Readonly<Record<string, string>>;

/** Shows each problem next to its field, the others at the end of the form, and focuses the first field with one. */
export function showProblems(thrown: unknown, fields: Fields, rest: string): void {
  clearProblems(fields, rest);
  const problems: readonly Problem[] =
    thrown instanceof Refused ? thrown.problems : [{ loc: [], msg: shownProblem(thrown) }];
  const unplaced: string[] = [];
  let first: HTMLElement | undefined;
  for (const { loc, msg } of problems) {
    const field = fields[String(loc.at(-1))];
    if (field === undefined) {
      unplaced.push(msg);
      continue;
    }
    const input = byId(field, HTMLElement);
    input.ariaInvalid = 'true';
    unfold(input);
    const place = byId(`${field}-problem`, HTMLElement);
    place.textContent = [place.textContent, shownProblem(msg)].filter((each) => each !== '').join('\n');
    first ??= input;
  }
  for (const field of new Set(Object.values(fields))) {
    const place = byId(`${field}-problem`, HTMLElement);
    // Not every browser lets keys scroll what can't have the focus.
    if (place.scrollHeight > place.clientHeight) place.tabIndex = 0;
  }
  byId(rest, HTMLElement).textContent = unplaced.map(shownProblem).join(' ');
  first?.focus();
}

/** Opens the details around a field: in closed ones, neither the field nor its problem can be seen. */
export function unfold(field: Element): void {
  const details = field.closest('details');
  if (details) details.open = true;
}

export function clearProblems(fields: Fields, rest: string): void {
  for (const field of new Set(Object.values(fields))) {
    byId(field, HTMLElement).ariaInvalid = null;
    const place = byId(`${field}-problem`, HTMLElement);
    place.textContent = '';
    place.removeAttribute('tabindex');
  }
  byId(rest, HTMLElement).textContent = '';
}
