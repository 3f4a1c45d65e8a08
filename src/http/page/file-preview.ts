import { byId, element, table } from './elements.js';
import type { PageModels } from './service.js';

/** What the first rows of a chosen file show: its columns, which of them hold what, and the task that follows. */

interface Rows {
  readonly columns: readonly string[];
  readonly cells: readonly (readonly string[])[];
}

/** The names that the service recognizes; see docs/files.md. */
export type ColumnNames = PageModels['column_names'];
type Field = keyof ColumnNames;

const fieldNames: Readonly<Record<Field, string>> = {
  text: 'Text is in',
  label: 'Label is in',
  question: 'Question is in',
  passage: 'Passage is in',
};
const CLASSIFIER = ['text', 'label'] as const;
const RETRIEVAL = ['question', 'passage'] as const;

const PREVIEW_BYTES = 2 ** 18;
const SHOWN_ROWS = 3;
const SHOWN_CHARACTERS = 80;
/** More different labels than half the rows are no classes. */
const MIN_ROWS_PER_LABEL = 2;

/** Shows the first rows of the chosen file and its columns. The columns can be chosen. */
export class FilePreview {
  readonly #names: ColumnNames;
  #file: File | undefined;
  #rows: Rows | undefined;
  #fields: readonly [Field, Field] = CLASSIFIER;
  #recognized: readonly string[] = [];

  constructor(names: ColumnNames) {
    this.#names = names;
  }

  /** @returns the task that fits the file, if its rows show one */
  async show(file: File | undefined): Promise<string | undefined> {
    this.#file = file;
    this.#rows = undefined;
    byId('columns', HTMLElement).hidden = true;
    if (file === undefined) return undefined;
    if (/\.(?:conll|bio|iob)$/i.test(file.name)) return 'named-entity-recognition';
    const start = await file.slice(0, PREVIEW_BYTES).text();
    if (this.#file !== file) return undefined; // another was chosen in the meantime
    const rows = rowsOf(file.name, start, file.size > PREVIEW_BYTES);
    if (rows === undefined || rows.cells.length === 0 || rows.columns.length < 2) return undefined;
    this.#rows = rows;
    const isRetrieval = RETRIEVAL.every((field) => this.#knownColumn(rows, field) !== '');
    this.#showColumns(isRetrieval ? RETRIEVAL : CLASSIFIER);
    return isRetrieval ? 'question-answering' : this.#classifier();
  }

  /** @param family of the chosen task, which decides what the columns hold */
  fit(family: string): void {
    if (this.#rows !== undefined && family !== 'Grapefruit') {
      this.#showColumns(family === 'Dragonfruit' ? RETRIEVAL : CLASSIFIER);
    }
    byId('columns', HTMLElement).hidden = this.#rows === undefined || family === 'Grapefruit';
  }

  /** The chosen columns by field; undefined if the service recognizes them. */
  get columns(): Readonly<Partial<Record<Field, string>>> | undefined {
    if (this.#rows === undefined || byId('columns', HTMLElement).hidden) return undefined;
    const chosen = selects().map(({ value }) => value);
    if (chosen.some((name) => name === '') || chosen.every((name, at) => name === this.#recognized[at]))
      return undefined;
    return Object.fromEntries(this.#fields.map((field, at) => [field, chosen[at]]));
  }

  #showColumns(fields: readonly [Field, Field]): void {
    const rows = this.#rows;
    if (rows === undefined || (fields === this.#fields && !byId('columns', HTMLElement).hidden)) return;
    this.#fields = fields;
    this.#recognized = fields.map((field) => this.#knownColumn(rows, field));
    const [first, second] = guessed(rows, this.#recognized);
    for (const [at, select] of selects().entries()) {
      const field = fields[at] ?? 'text';
      byId(`${select.id}-name`, HTMLElement).textContent = fieldNames[field];
      const options = rows.columns.map((name) => element('option', { value: name }, name));
      select.replaceChildren(element('option', { value: '' }, 'recognized from the file'), ...options);
      select.value = (at === 0 ? first : second) ?? '';
    }
    const shown = rows.cells.slice(0, SHOWN_ROWS).map((cells) => {
      const [head = '', ...rest] = rows.columns.map((_, at) => shortened(cells[at] ?? '') || '(empty)');
      return [[head], ...rest] as const;
    });
    byId('columns-rows', HTMLElement).replaceChildren(table({ columns: rows.columns }, shown));
    byId('columns', HTMLElement).hidden = false;
  }

  #knownColumn({ columns }: Rows, field: Field): string {
    const found = this.#names[field].map((name) => columns.find((each) => each.trim().toLowerCase() === name));
    return found.find((column) => column !== undefined) ?? '';
  }

  #classifier(): string | undefined {
    const label = this.#rows?.columns.indexOf(selects()[1]?.value ?? '') ?? -1;
    const labels = this.#rows?.cells.map((cells) => cells[label] ?? '').filter((each) => each !== '') ?? [];
    const different = new Set(labels).size;
    if (label === -1 || labels.some((each) => each.includes(','))) return undefined;
    if (different < 2 || labels.length < MIN_ROWS_PER_LABEL * different) return undefined;
    return different === 2 ? 'binary-text-classification' : 'multiclass-text-classification';
  }
}

const selects = () => ['first-column', 'second-column'].map((id) => byId(id, HTMLSelectElement));

function shortened(text: string): string {
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS).trimEnd()}…`;
}

/** The columns with names that are known; otherwise the one with the longest texts, and the one with the fewest values. */
function guessed({ columns, cells }: Rows, [first = '', second = '']: readonly string[]): (string | undefined)[] {
  const valuesOf = (name: string) => cells.map((row) => row[columns.indexOf(name)] ?? '');
  const others = columns.filter((name) => name !== first && name !== second);
  const flags = others.filter((name) => valuesOf(name).every((value) => /^(?:[01]|true|false|)$/i.test(value)));
  const lengthOf = (name: string) => valuesOf(name).join('').length;
  const longest = first || others.toSorted((a, b) => lengthOf(b) - lengthOf(a))[0];
  if (second !== '' || flags.length > 1) return [longest, second]; // a column for each label is recognized by the service
  const numberOf = (name: string) => new Set(valuesOf(name)).size;
  const candidates = others.filter((name) => name !== longest && numberOf(name) > 1);
  return [longest, candidates.toSorted((a, b) => numberOf(a) - numberOf(b))[0]];
}

/** Undefined for a file that isn't such a table, or is not UTF-8; the service says what is wrong with it. */
function rowsOf(name: string, content: string, isCut: boolean): Rows | undefined {
  const text = content.replace(/^\uFEFF/, '');
  if (text.includes('\uFFFD') && !isCut) return undefined;
  if (/\.(?:jsonl|ndjson)$/i.test(name)) return rowsOfLines(text);
  if (!/\.(?:csv|tsv)$/i.test(name)) return undefined;
  const [head = ''] = text.split(/\r?\n/, 1);
  const delimiters = [',', ';', '\t', '|'].toSorted((a, b) => head.split(b).length - head.split(a).length);
  const [columns = [], ...cells] = parsed(text, delimiters[0] ?? ',');
  return { columns, cells: isCut ? cells.slice(0, -1) : cells };
}

function rowsOfLines(text: string): Rows | undefined {
  const rows = text.split('\n').flatMap((line) => {
    try {
      const row: unknown = JSON.parse(line);
      return typeof row === 'object' && row !== null ? [new Map<string, unknown>(Object.entries(row))] : [];
    } catch {
      return []; // the last line may be cut
    }
  });
  const columns = [...(rows[0]?.keys() ?? [])];
  const shown = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
  return { columns, cells: rows.map((row) => columns.map((column) => shown(row.get(column)))) };
}

/** RFC 4180. */
function parsed(text: string, delimiter: string): string[][] {
  const rows: string[][] = [[]];
  let cell = '';
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (isQuoted && character === '"' && text.charAt(at + 1) === '"') {
      cell += '"';
      at += 1;
    } else if (character === '"' && (isQuoted || cell === '')) isQuoted = !isQuoted;
    else if (!isQuoted && (character === delimiter || character === '\n')) {
      rows.at(-1)?.push(cell.replace(/\r$/, ''));
      cell = '';
      if (character === '\n') rows.push([]);
    } else cell += character;
  }
  rows.at(-1)?.push(cell.replace(/\r$/, ''));
  return rows.filter((row) => row.some((each) => each !== ''));
}
