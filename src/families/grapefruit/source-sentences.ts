/** Reads tagged sentences from memory, or from a file in CoNLL's columns. */
import { basename } from 'node:path';
import { counted, type ProblemList, readLines, type TextLine } from '../../datasets/index.js';
import { insideTag, parseTag } from './bio-tags.js';
import type { WrittenSentence } from './check-sentence.js';

/** Words and the BIO tag of each, `O`, `B-…` or `I-…`; an I- that continues nothing (IOB1) is taken as B-. */
export interface SequenceRow {
  readonly words: readonly string[];
  /** One per word. */
  readonly tags: readonly string[];
}

/**
 * A UTF-8 file with one word per line, the word in the first of two or more columns and its tag in the last.
 * Columns are separated by tabs, or by spaces if a line has no tab; a blank line ends a sentence, and so does
 * -DOCSTART-.
 */
export interface ConllFile {
  readonly path: string;
}

/** Where sentences come from. */
export type SequenceSource = ConllFile | Iterable<SequenceRow>;

/** The sentences of a source. */
export interface SentenceTable {
  /** The source's name in problems. */
  readonly file: string;
  readonly sentences: readonly WrittenSentence[];
  /**
   * How many words contained white space and became several words, or were nothing else and were left out.
   */
  readonly respacedWords: number;
}

/** A sentence of a source, whose words may contain white space. */
interface SourceSentence extends SequenceRow {
  readonly file: string;
  readonly line: number;
  /** Where a tag is written; without an index, where the list of tags is. */
  placeOf(index?: number): WrittenSentence['tagPlace'];
}

/**
 * Reads all sentences of a source; a line that isn't a word with its tag becomes a problem. Rows in memory
 * count from 1, as lines do.
 * @param name of rows in memory, in problems.
 */
export async function readSource(
  source: SequenceSource,
  name: string,
  problems: ProblemList,
): Promise<SentenceTable> {
  const inMemory = Symbol.iterator in source;
  const sentences = inMemory ? rowsInMemory(source, name) : await readConll(source, problems);
  let respacedWords = 0;
  const respaced = sentences.map((sentence) => {
    const result = respace(sentence);
    respacedWords += result.respacedWords;
    return result.sentence;
  });
  return { file: inMemory ? name : basename(source.path), sentences: respaced, respacedWords };
}

function rowsInMemory(rows: Iterable<SequenceRow>, file: string): SourceSentence[] {
  return Array.from(rows, ({ words, tags }, row) => {
    const line = row + 1;
    const placeOf = (index?: number) => ({
      file,
      line,
      column: index === undefined ? 'tags' : `tags[${index}]`,
    });
    return { file, line, words, tags, placeOf };
  });
}

/** A line of a CoNLL file with a word. */
interface WordLine {
  readonly line: number;
  readonly word: string;
  readonly tag: string;
}

async function readConll({ path }: ConllFile, problems: ProblemList): Promise<SourceSentence[]> {
  const file = basename(path);
  const sentences: SourceSentence[] = [];
  let open: WordLine[] = [];
  const close = () => {
    const wordLines = open;
    const [first] = wordLines;
    open = [];
    if (first === undefined) return;
    sentences.push({
      file,
      line: first.line,
      words: wordLines.map(({ word }) => word),
      tags: wordLines.map(({ tag }) => tag),
      placeOf: (index = 0) => ({ file, line: wordLines[index]?.line ?? first.line }),
    });
  };
  for (const line of (await readLines(path, file, problems)) ?? []) {
    if (line.text.trim() === '' || line.text.startsWith('-DOCSTART-')) close();
    else {
      const wordLine = readWordLine(line, file, problems);
      if (wordLine) open.push(wordLine);
    }
  }
  close();
  return sentences;
}

function readWordLine(
  { number: line, text }: TextLine,
  file: string,
  problems: ProblemList,
): WordLine | undefined {
  const columns = text.includes('\t') ? text.split('\t') : text.trim().split(/ +/);
  const [word] = columns;
  const tag = columns.at(-1)?.trim();
  if (columns.length > 1 && word !== undefined && tag !== undefined) return { line, word, tag };
  const found = `found ${counted(columns.length, 'column')}`;
  problems.add({ file, line, found, expected: 'a word and its tag, separated by a tab or a space' });
  return undefined;
}

/** What ends a word when a text is read. */
const space = /[\p{White_Space}\uFEFF]+/u;

/**
 * The format separates words by spaces, so a word that contains some becomes several words of the same
 * entity.
 */
function respace(source: SourceSentence): { sentence: WrittenSentence; respacedWords: number } {
  const { file, line, words, tags, placeOf } = source;
  const isSound = words.length === tags.length && !words.some((word) => word === '' || space.test(word));
  if (isSound || words.length !== tags.length) {
    const sentence = { file, line, words, tags, tagPlace: placeOf(), placeOfTag: placeOf };
    return { sentence, respacedWords: 0 };
  }
  const parts = words.flatMap((word, index) => {
    const tag = tags[index] ?? '';
    const pieces = word.split(space).filter((piece) => piece !== '');
    return pieces.map((piece, at) => ({ word: piece, tag: at === 0 ? tag : continued(tag), index }));
  });
  return {
    sentence: {
      file,
      line,
      words: parts.map(({ word }) => word),
      tags: parts.map(({ tag }) => tag),
      tagPlace: placeOf(),
      placeOfTag: (at) => placeOf(parts[at]?.index),
    },
    respacedWords: words.filter((word) => word === '' || space.test(word)).length,
  };
}

function continued(tag: string): string {
  const parsed = parseTag(tag);
  return parsed ? insideTag(parsed.type) : tag;
}
