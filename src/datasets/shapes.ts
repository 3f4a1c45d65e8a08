import { namedTags, taggedSentences, wordTableColumns, wordTableSentences } from './conll.js';
import { counted, type ProblemList, quoted, singleProblem, someOf } from './problems.js';
import { isObject, own, type Records } from './records.js';

/** The shapes in which labelling tools and people write rows: what a record says, in the fields that rows have here. */

/** The fields of rows, before they are checked. */
export type Shape = 'label' | 'labels' | 'soft' | 'tags' | 'entities' | 'passage' | 'passages';

export interface FoundRows {
  /** Its name in messages: `a Label Studio export`. */
  readonly name: string;
  readonly shape: Shape;
  readonly rows: readonly unknown[];
  readonly lines: readonly number[];
  /** Whether the labels of rows that have one each are those of a classifier with one label per text. */
  readonly mayBeSingle?: boolean;
  /** What the fields are called in the file, by their names here. */
  readonly columns: Readonly<Record<string, string>>;
  readonly wordLines?: readonly (readonly number[])[];
  /** Whether tags are numbers that names were given for. Default false. */
  readonly hasNamedTags?: boolean;
  /** Columns that nothing reads. */
  readonly unread?: readonly string[];
  /** Further notes, such as rows that were left out. */
  readonly notes?: readonly string[];
}

interface ReadRow {
  readonly line: number;
  readonly row: unknown;
}

export interface ShapeOptions {
  readonly columns?: Readonly<Record<string, string | undefined>> | undefined;
  readonly isMultilabel?: boolean | undefined;
  readonly fitting: readonly Shape[];
  readonly tagNames?: readonly string[] | undefined;
}

const some = (records: Records['records']) => records.slice(0, 50).map(({ value }) => value);
const strings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

/** The rows of an export of a tool that is known by its fields; undefined for other records. */
export function toolRows(found: Records, file: string, problems: ProblemList): FoundRows | undefined {
  const values = some(found.records);
  const objects = values.filter(isObject);
  const all = (has: (value: Readonly<Record<string, unknown>>) => boolean) =>
    objects.length > 0 && objects.length === values.length && objects.every(has);
  const any = (has: (value: Readonly<Record<string, unknown>>) => boolean) => objects.some(has);
  const { records } = found;
  if (all((row) => isObject(row.data) && (Array.isArray(row.annotations) || Array.isArray(row.completions)))) {
    return labelStudioRows(records, file, problems);
  }
  if (
    any((row) => isAnswer(row.answer) && ('_input_hash' in row || 'spans' in row || 'accept' in row || 'label' in row))
  ) {
    return prodigyRows(records);
  }
  if (all((row) => Array.isArray(row.paragraphs)) || all((row) => Array.isArray(row.qas))) return squadRows(records);
  if (values.length > 0 && values.every(isSpacyPair)) {
    const pairs = records.map(({ line, value }) => ({ line, row: Array.isArray(value) ? spacyRow(value) : value }));
    return entitiesOrCats('spaCy training data', pairs);
  }
  if (any((row) => isObject(row.cats))) return entitiesOrCats('spaCy training data', rowsOf(records));
  const spans = spanField(objects);
  if (spans !== undefined) {
    const rows = records.map(({ line, value }) => ({
      line,
      row: isObject(value) ? { text: value.text, entities: spansIn(value[spans]) } : value,
    }));
    const relations = records.filter(({ value }) => isObject(value) && filled(value.relations)).length;
    const unread = found.columns.filter((column) => !['text', spans, ...METADATA].includes(column));
    return {
      ...ofRows(any(isDoccano) ? 'a doccano export' : found.name, 'entities', rows),
      columns: { text: 'text', entities: spans },
      ...(unread.length > 0 && { unread }),
      notes: relations > 0 ? [`ignored the relations of ${counted(relations, 'text')}`] : [],
    };
  }
  return undefined;
}

/** Fields of exports that say nothing of the text. */
const METADATA = ['id', 'meta', 'Comments', 'comments', 'relations', 'tokens', 'offsets'];

const filled = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

const isDoccano = (row: Readonly<Record<string, unknown>>): boolean => 'Comments' in row || 'relations' in row;

function rowsOf(records: Records['records']): ReadRow[] {
  return records.map(({ line, value }) => ({ line, row: value }));
}

function ofRows(name: string, shape: Shape, rows: readonly ReadRow[]): FoundRows {
  return { name, shape, rows: rows.map(({ row }) => row), lines: rows.map(({ line }) => line), columns: {} };
}

/** The field with entities, of records that have a text: objects, or arrays of start, end and type. */
function spanField(objects: readonly Readonly<Record<string, unknown>>[]): string | undefined {
  if (!objects.every((row) => typeof row.text === 'string')) return undefined;
  return ['entities', 'spans', 'label', 'labels', 'annotations'].find((field) => {
    const lists = objects.flatMap((row) => {
      const value = own(row, field);
      // spaCy's groups of spans.
      const list: unknown = isObject(value) ? Object.values(value).flat() : value;
      return Array.isArray(list) ? [list] : [];
    });
    const spans: unknown[] = lists.flat();
    const isNamed = field === 'entities' || field === 'spans';
    return lists.length > 0 && (spans.length > 0 ? spans.every(isSpan) : isNamed);
  });
}

function isSpan(value: unknown): boolean {
  if (Array.isArray(value)) return value.length >= 3 && Number.isInteger(value[0]) && Number.isInteger(value[1]);
  return isObject(value) && spanStart(value) !== undefined;
}

const spanStart = (span: Readonly<Record<string, unknown>>) => span.start ?? span.start_offset ?? span.begin;

/** Entities in the spellings of several tools, as start, end and type; what is none stays as it is, and is refused later. */
export function spansIn(value: unknown): unknown {
  if (isObject(value)) return spansIn(Object.values(value).flat());
  if (!Array.isArray(value)) return value;
  return value.map((span: unknown) => {
    if (Array.isArray(span)) return { start: span[0], end: span[1], type: span[2] };
    if (!isObject(span)) return span;
    const types = Array.isArray(span.labels) ? span.labels[0] : span.labels;
    const type = span.type ?? span.label ?? span.tag ?? span.entity_group ?? span.entity ?? types;
    const said = typeof span.text === 'string' ? { text: span.text } : {};
    return { start: spanStart(span), end: span.end ?? span.end_offset, type, ...said };
  });
}

/** Label Studio's export: tasks with annotations, each with results. Of several annotators, the first is read. */
function labelStudioRows(records: Records['records'], file: string, problems: ProblemList): FoundRows {
  let without = 0;
  let several = 0;
  const rows = records.flatMap(({ line, value }): (ReadRow & { readonly isEntities: boolean })[] => {
    if (!isObject(value) || !isObject(value.data)) return [];
    const given = [value.annotations, value.completions].find((list) => Array.isArray(list));
    const annotations = (Array.isArray(given) ? given : []).filter(
      (each) => isObject(each) && each.was_cancelled !== true,
    );
    const [annotation]: unknown[] = annotations;
    if (!isObject(annotation) || !Array.isArray(annotation.result)) {
      without += 1;
      return [];
    }
    if (annotations.length > 1) several += 1;
    const text = labelStudioText(value.data);
    if (text === undefined) {
      problems.add({
        file,
        line,
        column: 'data',
        found: `found ${quoted(value.data)}`,
        expected: 'exactly one text in data',
      });
      return [];
    }
    const values = annotation.result
      .filter(isObject)
      .flatMap((result) => (isObject(result.value) ? [result.value] : []));
    const spans = values.filter((each) => spanStart(each) !== undefined);
    const choices = values.flatMap((each) => (Array.isArray(each.choices) ? each.choices : []));
    const isEntities = spans.length > 0 || choices.length === 0;
    return [{ line, isEntities, row: isEntities ? { text, entities: spansIn(spans) } : { text, labels: choices } }];
  });
  const notes = [
    ...(without > 0 ? [`left out ${counted(without, 'task')} without annotations`] : []),
    ...(several > 0 ? [`read only the first of several annotations of ${counted(several, 'task')}`] : []),
  ];
  const isEntities = rows.some((row) => row.isEntities && isObject(row.row) && filled(row.row.entities));
  const fitting = rows.filter((row) => row.isEntities === isEntities);
  return { ...ofRows('a Label Studio export', isEntities ? 'entities' : 'labels', fitting), mayBeSingle: true, notes };
}

function labelStudioText(data: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof data.text === 'string') return data.text;
  const texts = Object.values(data).filter((each) => typeof each === 'string');
  return texts.length === 1 ? texts[0] : undefined;
}

const isAnswer = (value: unknown): boolean => value === 'accept' || value === 'reject' || value === 'ignore';

/** Prodigy's export: only what was accepted says what is right. */
function prodigyRows(records: Records['records']): FoundRows {
  const kept = records.filter(
    ({ value }) => isObject(value) && (value.answer === undefined || value.answer === 'accept'),
  );
  const left = records.length - kept.length;
  const notes = left > 0 ? [`left out ${counted(left, 'rejected or ignored example')}`] : [];
  const objects = kept.flatMap(({ line, value }) => (isObject(value) ? [{ line, value }] : []));
  if (objects.some(({ value }) => Array.isArray(value.accept))) {
    const rows = objects.map(({ line, value }) => ({ line, row: { text: value.text, labels: value.accept ?? [] } }));
    return { ...ofRows('a Prodigy export', 'labels', rows), columns: { labels: 'accept' }, mayBeSingle: true, notes };
  }
  if (objects.some(({ value }) => Array.isArray(value.spans))) {
    const rows = objects.map(({ line, value }) => ({
      line,
      row: { text: value.text, entities: spansIn(value.spans ?? []) },
    }));
    return { ...ofRows('a Prodigy export', 'entities', rows), columns: { entities: 'spans' }, notes };
  }
  const rows = objects.map(({ line, value }) => ({ line, row: { text: value.text, labels: [value.label] } }));
  return { ...ofRows('a Prodigy export', 'labels', rows), columns: { labels: 'label' }, mayBeSingle: true, notes };
}

function isSpacyPair(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && isObject(value[1]);
}

function spacyRow([text, said]: readonly unknown[]): unknown {
  return isObject(said) ? { text, ...said } : { text };
}

/** Entities, or `cats`: a number for each label, of which those from one half on hold. */
function entitiesOrCats(name: string, given: readonly ReadRow[]): FoundRows {
  if (given.some(({ row }) => isObject(row) && isObject(row.cats))) {
    const rows = given.map(({ line, row }) => {
      const cats = isObject(row) && isObject(row.cats) ? Object.entries(row.cats) : [];
      const labels = cats.flatMap(([label, value]) => (Number(value) >= 0.5 ? [label] : []));
      return { line, row: isObject(row) ? { text: row.text, labels } : row };
    });
    return { ...ofRows(name, 'labels', rows), columns: { labels: 'cats' }, mayBeSingle: true };
  }
  const rows = given.map(({ line, row }) => ({
    line,
    row: isObject(row) ? { text: row.text, entities: spansIn(row.entities ?? row.spans ?? []) } : row,
  }));
  return ofRows(name, 'entities', rows);
}

/** SQuAD's articles (Rajpurkar et al. 2016): the paragraphs are passages. Questions without an answer are left out. */
function squadRows(records: Records['records']): FoundRows {
  const rows: ReadRow[] = [];
  let left = 0;
  for (const { line, value } of records) {
    if (!isObject(value)) continue;
    const paragraphs: unknown[] = Array.isArray(value.paragraphs) ? value.paragraphs : [value];
    for (const paragraph of paragraphs.filter(isObject)) {
      for (const qa of (Array.isArray(paragraph.qas) ? paragraph.qas : []).filter(isObject)) {
        if (qa.is_impossible === true) left += 1;
        else rows.push({ line, row: { question: qa.question, passage: paragraph.context } });
      }
    }
  }
  const notes = left > 0 ? [`left out ${counted(left, 'question')} without an answer`] : [];
  return { ...ofRows('SQuAD', 'passage', rows), columns: { passage: 'context' }, notes };
}

/** The names that columns go by; of several, the first in this order is read. */
export const COLUMN_NAMES = {
  text: ['text', 'sentence', 'content', 'review', 'utterance'],
  text2: ['text2'],
  weight: ['weight'],
  label: ['label', 'category', 'class', 'intent', 'sentiment'],
  labels: ['labels', 'tags', 'categories', 'topics'],
  question: ['question', 'query'],
  passage: ['passage', 'context', 'answer'],
  passages: ['passages'],
  tokens: ['tokens', 'words'],
  tags: ['tags', 'ner_tags'],
  entities: ['entities', 'spans'],
} as const;
type Field = keyof typeof COLUMN_NAMES;

const FIELDS: Readonly<Record<Shape, readonly [Field, Field]>> = {
  label: ['text', 'label'],
  labels: ['text', 'labels'],
  soft: ['text', 'labels'],
  tags: ['tokens', 'tags'],
  entities: ['text', 'entities'],
  passage: ['question', 'passage'],
  passages: ['question', 'passages'],
};

/** Columns that rows of classifiers may have in addition. */
const EXTRAS: readonly Field[] = ['text2', 'weight'];

/** Columns of numbers and names that say nothing of the text. */
const INDEX = /^(?:|unnamed: \d+|id|idx|index|no|row|#|_\w+|\w+_id)$/u;

/** Rows of records whose columns have the names of fields. @throws DatasetError if they don't */
export function columnRows(found: Records, file: string, options: ShapeOptions, problems: ProblemList): FoundRows {
  const { cells, columns } = found;
  const lower = columns.map((name) => name.trim().toLowerCase());
  const twice = columns.find((name, at) => name !== '' && lower.indexOf(lower[at] ?? '') < at);
  const find = (field: Field): string | undefined => {
    const asked = options.columns?.[field];
    if (asked !== undefined)
      return columns.find((name) => name === asked) ?? columns[lower.indexOf(asked.trim().toLowerCase())];
    const place = COLUMN_NAMES[field].map((name) => lower.indexOf(name)).find((at) => at >= 0);
    return place === undefined ? undefined : columns[place];
  };
  const words =
    cells && options.columns === undefined && options.fitting.includes('tags') ? wordTableColumns(lower) : undefined;
  if (words && cells && find('text') === undefined) {
    const sentences = taggedSentences(wordTableSentences(cells, words), file, problems);
    if (words.sentence < 0) {
      const expected = 'a column that numbers the sentences, such as "sentence_id"';
      throw singleProblem({ file, line: 1, found: 'found a table with one word per row', expected });
    }
    return { name: `${found.name} with one word per row`, shape: 'tags', columns: {}, ...sentences };
  }
  // What their labels are, settledLabels finds out.
  const order = shapesFor(options).filter((each) => each !== 'soft');
  const shape = order.find((each) => FIELDS[each].every((field) => find(field) !== undefined));
  const text = find('text');
  const named = EXTRAS.flatMap((field) => {
    const column = find(field);
    return column === undefined ? [] : [[field, column] as const];
  });
  const lacked = EXTRAS.some((field) => options.columns?.[field] !== undefined && find(field) === undefined);
  if (lacked) throw unknownColumns(found, file, options);
  const ofExtras = Object.fromEntries(named);
  const extras = named.map(([, column]) => column);
  const hot = shape === undefined ? oneHotColumns(found, [text, ...extras]) : undefined;
  if (hot && text !== undefined) {
    const rows = found.records.map(({ line, value }) => ({
      line,
      row: isObject(value)
        ? {
            text: own(value, text),
            labels: hot.filter((column) => isOn(own(value, column))),
            ...Object.fromEntries(named.map(([field, column]) => [field, fieldValue(field, own(value, column))])),
          }
        : value,
    }));
    return {
      ...ofRows(`${found.name} with a column per label`, 'labels', rows),
      mayBeSingle: true,
      columns: { text, ...ofExtras },
      unread: unreadOf(columns, [text, ...extras, ...hot]),
      notes: noteOf(named),
    };
  }
  if (shape === undefined) throw unknownColumns(found, file, options);
  const isClassified = shape === 'label' || shape === 'labels';
  const [refused] = isClassified ? [] : EXTRAS.filter((field) => options.columns?.[field] !== undefined);
  if (refused !== undefined) {
    const column = options.columns?.[refused] ?? refused;
    const what = `found rows of ${FIELDS[shape].join(' and ')}, and ${quoted(column)} as their ${refused}`;
    const expected = `rows of a classifier, since only those have a ${refused}; leave \`columns.${refused}\` out`;
    throw singleProblem({ file, line: found.header ?? 1, found: what, expected });
  }
  const [first, second] = FIELDS[shape];
  const read = {
    [first]: find(first) ?? first,
    [second]: find(second) ?? second,
    ...(isClassified && ofExtras),
  };
  const used = Object.values(read);
  if (twice !== undefined && used.some((name) => name.toLowerCase() === twice.toLowerCase())) {
    const expected = 'each column once; rename one of them';
    throw singleProblem({ file, line: found.header ?? 1, found: `found the column ${quoted(twice)} twice`, expected });
  }
  requireOneColumn(first, found, file, options, lower);
  requireOneColumn(second, found, file, options, lower);
  const made = {
    ...fieldRows(found, shape, read),
    columns: read,
    unread: unreadOf(columns, used),
    ...(isClassified && { notes: noteOf(named) }),
  };
  return shape === 'tags' ? withNamedTags(made, file, options, problems) : made;
}

/** What is read in addition to text and label. */
function noteOf(extras: readonly (readonly [field: Field, column: string])[]): readonly string[] {
  const what: Partial<Record<Field, string>> = { text2: 'second texts', weight: 'weights' };
  return extras.map(([field, column]) => `${what[field]} in ${quoted(column)}`);
}

/** Weights of a table are numbers in words. */
function fieldValue(field: string, value: unknown): unknown {
  if (field !== 'weight' || typeof value !== 'string') return value;
  const number = Number(value);
  return value.trim() === '' || !Number.isFinite(number) ? value : number;
}

/** Rows of some fields, from the columns that have them. */
function fieldRows(found: Records, shape: Shape, read: Readonly<Record<string, string>>): FoundRows {
  const { name, cells, columns } = found;
  const lines = (cells ?? found.records).map(({ line }) => line);
  // The last of columns with the same name, as of an object.
  const places = Object.entries(read).map(([field, column]) => ({ field, column, at: columns.lastIndexOf(column) }));
  const rows = cells
    ? cells.map((row) => Object.fromEntries(places.map(({ field, at }) => [field, fieldValue(field, row.cells[at])])))
    : found.records.map(({ value }) =>
        isObject(value)
          ? Object.fromEntries(places.map(({ field, column }) => [field, fieldValue(field, own(value, column))]))
          : value,
      );
  return { name, shape, rows, lines, columns: {} };
}

function shapesFor({ columns, fitting }: ShapeOptions): readonly Shape[] {
  if (columns?.question !== undefined || columns?.passage !== undefined) return ['passage'];
  return columns?.label !== undefined ? ['label'] : fitting;
}

function unreadOf(columns: readonly string[], read: readonly string[]): readonly string[] {
  return columns.filter((name) => !read.includes(name) && !INDEX.test(name.trim().toLowerCase()));
}

/** Two columns by one of the names of a field are a guess; the field's own name is none. */
function requireOneColumn(
  field: Field,
  found: Records,
  file: string,
  options: ShapeOptions,
  lower: readonly string[],
): void {
  if (options.columns?.[field] !== undefined || lower.includes(field)) return;
  const known = COLUMN_NAMES[field].filter((name) => lower.includes(name));
  if (known.length < 2) return;
  const listed = known.map((name) => quoted(found.columns[lower.indexOf(name)] ?? name)).join(' and ');
  const expected = `one of them; name it (\`columns: { ${field}: ${quoted(known[0])} }\`)`;
  throw singleProblem({
    file,
    line: found.header ?? 1,
    found: `found the columns ${listed}, each of which may be the ${field}`,
    expected,
  });
}

const ON = new Set(['1', 'true', 'yes', 'x', '1.0']);
const OFF = new Set(['0', 'false', 'no', '', '0.0']);
const isOn = (value: unknown): boolean => ON.has(String(value).toLowerCase());

/** Two columns or more that have nothing but 0 and 1. */
function oneHotColumns(
  { columns, records }: Records,
  read: readonly (string | undefined)[],
): readonly string[] | undefined {
  const values = records.map(({ value }) => value).filter(isObject);
  const hot = columns.filter((column) => {
    if (read.includes(column) || INDEX.test(column.toLowerCase())) return false;
    const cells = values.map((row) => String(own(row, column) ?? '').toLowerCase());
    return cells.some((cell) => ON.has(cell)) && cells.every((cell) => ON.has(cell) || OFF.has(cell));
  });
  return hot.length >= 2 ? hot : undefined;
}

export const hasNumberTags = (row: unknown): boolean =>
  isObject(row) && Array.isArray(row.tags) && row.tags.some((tag: unknown) => typeof tag === 'number');

function withNamedTags(found: FoundRows, file: string, { tagNames }: ShapeOptions, problems: ProblemList): FoundRows {
  const made = { ...found, hasNamedTags: tagNames !== undefined && found.rows.some(hasNumberTags) };
  const rows = made.rows.map((row, at) => {
    if (!isObject(row) || !Array.isArray(row.tags) || !row.tags.every((tag) => Number.isInteger(tag))) return row;
    return { ...row, tags: namedTags(row.tags, tagNames, { file, line: made.lines[at] ?? 1 }, problems) };
  });
  const isTagged = rows.every((row) => isObject(row) && strings(row.tokens) && strings(row.tags));
  if (!isTagged || problems.total > 0) return { ...made, rows };
  const words = rows.map((row, at) => {
    const [tokens, tags] =
      isObject(row) && strings(row.tokens) && strings(row.tags) ? [row.tokens, row.tags] : [[], []];
    return tokens.length === tags.length
      ? tokens.map((word, i) => ({ line: made.lines[at] ?? 1, word, tag: tags[i] ?? 'O' }))
      : undefined;
  });
  if (words.some((sentence) => sentence === undefined)) return { ...made, rows };
  const { rows: read, scheme } = taggedSentences(
    words.flatMap((sentence) => (sentence ? [sentence] : [])),
    file,
    problems,
  );
  return { ...made, rows: read, ...(scheme !== 'BIO' && { notes: [`${scheme} tags`] }) };
}

/** In the order in which messages name them. */
const KNOWN: readonly Shape[] = ['label', 'labels', 'passage', 'tags', 'entities'];

/** A message that names what was found, and what the columns may be. */
function unknownColumns(found: Records, file: string, { columns: asked, fitting }: ShapeOptions) {
  const { columns, records, name } = found;
  const missing = Object.values(asked ?? {}).find((each) => each !== undefined && !columns.includes(each));
  const listed = someOf(columns.map((each) => quoted(each)));
  const what =
    columns.length === 0 ? `${name} without columns` : `${name} with ${counted(columns.length, 'column')}: ${listed}`;
  const line = found.header === undefined ? {} : { line: found.header };
  if (missing !== undefined) {
    return singleProblem({ file, ...line, found: `found ${what}`, expected: `the column ${quoted(missing)}` });
  }
  const isRow = columns.some((cell, at) => found.cells?.some(({ cells }) => cell !== '' && cells[at] === cell));
  if (isRow) {
    const expected = 'a header with the names of the columns, such as text,label';
    return singleProblem({ file, ...line, found: `found ${what}, but the first line looks like a row`, expected });
  }
  const known = KNOWN.filter((each) => fitting.includes(each))
    .map((each) => FIELDS[each].join(' and '))
    .join(', or ');
  const example = fitting.includes('label') ? labelColumns(columns, records) : questionColumns(columns, records);
  return singleProblem({
    ...{ file, ...line, found: `found ${what}` },
    expected: `the columns ${known}; if yours have other names, choose the columns (\`columns: ${example}\`)`,
  });
}

/** The column with the longest texts, and the one with the fewest different values. */
function labelColumns(columns: readonly string[], records: Records['records']): string {
  const [text, ...others] = measuredColumns(columns, records);
  const [label] = others.filter(({ different }) => different > 1).sort((a, b) => a.different - b.different);
  if (text === undefined || label === undefined) return "{ text: 'review', label: 'stars' }";
  return `{ text: ${quoted(text.name)}, label: ${quoted(label.name)} }`;
}

/** The two columns with the longest texts: passages are longer than questions, unless a column has that name. */
function questionColumns(columns: readonly string[], records: Records['records']): string {
  const longest = measuredColumns(columns, records);
  const named = longest.find(({ name }) => name === 'question');
  const [passage, other] = longest.filter((each) => each !== named);
  const question = named ?? other;
  if (passage === undefined || question === undefined) return "{ question: 'question', passage: 'answer' }";
  return `{ question: ${quoted(question.name)}, passage: ${quoted(passage.name)} }`;
}

/** Those with texts or numbers, the longest first. */
function measuredColumns(columns: readonly string[], records: Records['records']) {
  const values = some(records).filter(isObject);
  return columns
    .filter((name) => !INDEX.test(name.toLowerCase()))
    .map((name) => {
      const cells = values
        .map((row) => row[name])
        .filter((cell) => typeof cell === 'string' || typeof cell === 'number');
      const length = cells.reduce<number>((sum, cell) => sum + String(cell).length, 0) / Math.max(1, cells.length);
      return { name, length, different: new Set(cells).size, count: cells.length };
    })
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.length - a.length);
}
