import type { DatasetProblem } from '../contract/index.js';
import { counted, type ProblemList, quoted } from './problems.js';
import type { TextLine } from './text-lines.js';

/** Files with one word per line and its tag: CoNLL's formats, and tables of the same. Every scheme of tags becomes BIO. */

interface WordLine {
  readonly line: number;
  readonly word: string;
  readonly tag: string;
}

export interface TaggedSentences {
  readonly rows: readonly { readonly tokens: readonly string[]; readonly tags: readonly string[] }[];
  /** Of each sentence's first word. */
  readonly lines: readonly number[];
  readonly wordLines: readonly (readonly number[])[];
  /** What the tags are written in. */
  readonly scheme: TagScheme;
}

/**
 * Schemes of tags: how tags say where an entity begins and ends. IOB1 (Ramshaw & Marcus 1995), where B- only divides
 * two entities of a type; BIO, also called IOB2; BIOES and BILOU (Ratinov & Roth 2009); IO, types alone.
 */
export type TagScheme = 'IOB1' | 'BIO' | 'BIOES' | 'BILOU' | 'IO';

const TAG = /^(?:O|[BIESLU]-\S+)$/u;
/** How many lines decide what a file is. */
const LOOKED_AT = 300;
const MOST = 0.9;

const isBreak = (text: string): boolean => text.trim() === '' || text.startsWith('-DOCSTART-');

function cellsOf(text: string): readonly string[] {
  return text.includes('\t') ? text.split('\t') : text.trim().split(/ +/u);
}

/** Whether lines have a word and a tag each, whatever the file is called. */
export function looksLikeConll(lines: readonly TextLine[]): boolean {
  const some = wordLinesOf(lines).slice(0, LOOKED_AT);
  if (some.length === 0) return false;
  const tagged = some.filter(({ text }) => {
    const cells = cellsOf(text);
    return cells.length > 1 && cells.some((cell, at) => at > 0 && TAG.test(cell.trim()));
  });
  return tagged.length >= MOST * some.length;
}

function wordLinesOf(lines: readonly TextLine[]): readonly TextLine[] {
  return lines.filter(({ text }) => !isBreak(text) && !isComment(text));
}

/** `# sent_id = 4`, but not a word that is a #. */
function isComment(text: string): boolean {
  return /^#\s?\S/u.test(text) && !cellsOf(text).some((cell, at) => at > 0 && TAG.test(cell.trim()));
}

/**
 * One word per line, and its tag in the last column that has tags; a blank line ends a sentence, and so does -DOCSTART-. The
 * word comes first, after a number that counts the words of its sentence, if there is one.
 */
export function conllSentences(lines: readonly TextLine[], file: string, problems: ProblemList): TaggedSentences {
  const sentences: TextLine[][] = [];
  let open: TextLine[] = [];
  for (const line of lines) {
    if (isBreak(line.text)) open = [];
    else if (!isComment(line.text)) {
      if (open.length === 0) sentences.push(open);
      open.push(line);
    }
  }
  const columns = columnsOf(sentences);
  const read = sentences.map((sentence) =>
    sentence.flatMap(({ number: line, text }): WordLine[] => {
      const cells = cellsOf(text);
      const word = cells[columns.word];
      const tag = (columns.tag === undefined ? cells.at(-1) : cells[columns.tag])?.trim();
      if (cells.length > 1 && word !== undefined && tag !== undefined) return [{ line, word, tag }];
      const found = `found ${counted(cells.length, 'column')}`;
      problems.add({ file, line, found, expected: 'a word and its tag, separated by a tab or a space' });
      return [];
    }),
  );
  return taggedSentences(
    read.filter((sentence) => sentence.length > 0),
    file,
    problems,
  );
}

/** @returns the column of words, and that of tags if it isn't the last of each line */
function columnsOf(sentences: readonly (readonly TextLine[])[]): { readonly word: number; readonly tag?: number } {
  const some = sentences.slice(0, LOOKED_AT);
  const isNumbered = [0, 1].some((first) =>
    some.every((sentence) => sentence.every(({ text }, at) => cellsOf(text)[0] === `${at + first}`)),
  );
  const rows = some.flat().map(({ text }) => cellsOf(text));
  const width = rows[0]?.length ?? 0;
  const isEven = rows.every((cells) => cells.length === width);
  const word = isNumbered && width > 2 ? 1 : 0;
  if (!isEven) return { word };
  const share = (column: number) => rows.filter((cells) => TAG.test(cells[column]?.trim() ?? '')).length / rows.length;
  const tag = Array.from({ length: width }, (_, at) => at).findLast((at) => at > word && share(at) >= MOST);
  return tag === undefined ? { word } : { word, tag };
}

/** The sentences with their tags in BIO. A tag that isn't of the file's scheme is a problem. */
export function taggedSentences(
  sentences: readonly (readonly WordLine[])[],
  file: string,
  problems: ProblemList,
): TaggedSentences {
  const tags = new Set(sentences.flatMap((words) => words.map(({ tag }) => tag)));
  const scheme = schemeOf(tags);
  const bio = new Map([...tags].map((tag) => [tag, bioTag(tag, scheme)]));
  const rows = sentences.map((words) => ({
    tokens: words.map(({ word }) => word),
    tags: words.map(({ line, tag }) => {
      const read = bio.get(tag);
      if (read === undefined) problems.add(wrongTag(file, line, tag, scheme));
      return read ?? 'O';
    }),
  }));
  return {
    ...{ rows, scheme },
    lines: sentences.map(([first]) => first?.line ?? 0),
    wordLines: sentences.map((words) => words.map(({ line }) => line)),
  };
}

function schemeOf(tags: ReadonlySet<string>): TagScheme {
  const known = [...tags].filter((tag) => TAG.test(tag) && tag !== 'O');
  const first = new Set(known.map((tag) => tag[0]));
  if (first.has('E') || first.has('S')) return 'BIOES';
  if (first.has('L') || first.has('U')) return 'BILOU';
  if (known.length === 0 && tags.has('O') && tags.size > 1) return 'IO';
  if (first.has('I') && !first.has('B')) return 'IOB1';
  return 'BIO';
}

/** @returns undefined for a tag that isn't of the scheme. An I- that continues nothing is read as B- later on. */
function bioTag(tag: string, scheme: TagScheme): string | undefined {
  if (tag === 'O') return tag;
  if (scheme === 'IO') return /^\S+$/u.test(tag) ? `I-${tag}` : undefined;
  if (!TAG.test(tag)) return undefined;
  const rest = tag.slice(1);
  switch (tag[0]) {
    case 'B':
    case 'I':
      return tag;
    case 'E':
      return scheme === 'BIOES' ? `I${rest}` : undefined;
    case 'S':
      return scheme === 'BIOES' ? `B${rest}` : undefined;
    case 'L':
      return scheme === 'BILOU' ? `I${rest}` : undefined;
    default:
      return scheme === 'BILOU' ? `B${rest}` : undefined;
  }
}

const LETTERS: Readonly<Record<TagScheme, string>> = {
  IOB1: 'a BIO tag: O, B-… or I-…',
  BIO: 'a BIO tag: O, B-… or I-…',
  BIOES: 'a BIOES tag: O, B-…, I-…, E-… or S-…',
  BILOU: 'a BILOU tag: O, B-…, I-…, L-… or U-…',
  IO: 'O, or an entity type without spaces',
};

function wrongTag(file: string, line: number, tag: string, scheme: TagScheme): DatasetProblem {
  return { file, line, found: `found the tag ${quoted(tag)}`, expected: LETTERS[scheme] };
}

const WORD_COLUMNS = ['word', 'token', 'form'];
const TAG_COLUMNS = ['tag', 'ner', 'ner_tag', 'label', 'entity'];
const SENTENCE_COLUMN = /^(?:sent|sentence)(?:[ _]?(?:#|id|no|number|idx))?$/u;

/** The columns of a table with one word per row; undefined if it is none. @param columns in lower case */
export function wordTableColumns(columns: readonly string[]) {
  const word = columns.findIndex((name) => WORD_COLUMNS.includes(name));
  const tag = columns.findIndex((name) => TAG_COLUMNS.includes(name));
  const sentence = columns.findIndex((name) => SENTENCE_COLUMN.test(name));
  return word >= 0 && tag >= 0 ? { word, tag, sentence } : undefined;
}

/** Rows whose sentence's cell is empty belong to the sentence before. @throws DatasetError if nothing tells sentences apart */
export function wordTableSentences(
  records: readonly { readonly line: number; readonly cells: readonly string[] }[],
  { word, tag, sentence }: NonNullable<ReturnType<typeof wordTableColumns>>,
): readonly (readonly WordLine[])[] {
  const sentences: WordLine[][] = [];
  let before: string | undefined;
  for (const { line, cells } of records) {
    const own = cells[sentence] ?? '';
    if (sentences.length === 0 || (own !== '' && own !== before)) sentences.push([]);
    if (own !== '') before = own;
    sentences.at(-1)?.push({ line, word: cells[word] ?? '', tag: (cells[tag] ?? '').trim() });
  }
  return sentences;
}

/** Tags that are numbers, as Hugging Face's datasets write them. */
export function namedTags(
  tags: readonly number[],
  names: readonly string[] | undefined,
  { file, line }: { readonly file: string; readonly line: number },
  problems: ProblemList,
): readonly string[] {
  const missing = tags.find((tag) => names?.[tag] === undefined);
  if (missing === undefined) return tags.map((tag) => names?.[tag] ?? 'O');
  const found = names === undefined ? 'found tags that are numbers' : `found the tag ${missing}`;
  const example = "`tagNames: ['O', 'B-PER', 'I-PER']`";
  const expected =
    names === undefined
      ? `tag names (or name the tags, in the order of their numbers: ${example})`
      : `a number from 0 to ${names.length - 1} (\`tagNames\` has ${counted(names.length, 'name')})`;
  problems.add({ file, line, found, expected });
  return tags.map(() => 'O');
}
