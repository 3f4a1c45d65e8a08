import { element } from './elements.js';
import type { Job } from './service.js';

type DatasetProblem = NonNullable<NonNullable<Job['error']>['problems']>[number];

/** More problems than this are folded away. */
const SHOWN_PROBLEMS = 20;

/** What is wrong in the dataset of a failed job, a row for each problem. */
export function datasetProblems(problems: readonly DatasetProblem[]): HTMLElement[] {
  if (problems.length === 0) return [];
  const shown = problemTable(problems.slice(0, SHOWN_PROBLEMS), 'What is wrong in the dataset');
  const rest = problems.slice(SHOWN_PROBLEMS);
  if (rest.length === 0) return [shown];
  // Of very many problems the service lists the first; the message of the failure counts them all.
  const summary = element('summary', {}, `${rest.length} more listed`);
  return [shown, element('details', {}, summary, problemTable(rest, 'What else is wrong in it'))];
}

function problemTable(problems: readonly DatasetProblem[], name: string): HTMLElement {
  const head = ['Where', 'Problem', 'Expected'].map((column) => element('th', { scope: 'col' }, column));
  const table = element(
    'table',
    { className: 'problems' },
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...problems.map(problemRow)),
  );
  return element('div', { className: 'scroll', role: 'region', ariaLabel: name, tabIndex: 0 }, table);
}

function problemRow({ file, line, column, found, expected }: DatasetProblem): HTMLElement {
  const place = [
    ...(line === undefined ? [] : [`line ${line.toLocaleString('en-US')}`]),
    ...(column === undefined ? [] : [`column ${column}`]),
  ];
  const where = element('span', { className: 'place' }, place.join(', '));
  const cells = [found, expected].map((cell) => element('td', {}, cell));
  return element('tr', {}, element('th', { scope: 'row' }, file, ' ', where), ...cells);
}
