import { byId } from './elements.js';
import { type Problem, Refused } from './service.js';

/** What went wrong, as a sentence. */
export function shownProblem(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return `${message.slice(0, 1).toUpperCase()}${message.slice(1).replace(/\.$/, '')}.`;
}

/** The field of a form for each place in a request, by the end of its path. */
export type Fields = Readonly<Record<string, string>>;

/** Shows each problem at its field, the others at the form's end, and goes to the first field that has one. */
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
    const told = byId(`${field}-problem`, HTMLElement);
    told.textContent = [told.textContent, shownProblem(msg)].filter((each) => each !== '').join('\n');
    first ??= input;
  }
  byId(rest, HTMLElement).textContent = unplaced.map(shownProblem).join(' ');
  first?.focus();
}

export function clearProblems(fields: Fields, rest: string): void {
  for (const field of new Set(Object.values(fields))) {
    byId(field, HTMLElement).ariaInvalid = null;
    byId(`${field}-problem`, HTMLElement).textContent = '';
  }
  byId(rest, HTMLElement).textContent = '';
}
