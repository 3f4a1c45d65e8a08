import { join } from 'node:path';
import { readText } from './files.js';

/** Readers of the datasets of named entities in the datasets folder; see bench/README.md for its layout. */

export interface TaggedSentence {
  readonly words: readonly string[];
  /** BIO tags. */
  readonly tags: readonly string[];
}

export interface TaggedSentences {
  readonly train: readonly TaggedSentence[];
  readonly dev: readonly TaggedSentence[];
  readonly test: readonly TaggedSentence[];
}

/** Readers by the name of the measurement; each is given the folder that holds every dataset. */
export const taggedReaders: Readonly<Record<string, (root: string) => TaggedSentences>> = {
  wikiann_en: (root) =>
    splits(join(root, 'wikiann_en'), { train: 'train.txt.br', dev: 'dev.txt', test: 'test.txt' }, (word) =>
      word.replace(/^en:/u, ''),
    ),
  ner_btc: (root) => readTwitter(join(root, 'ner_btc')),
  wnut17: (root) =>
    splits(join(root, 'wnut17'), {
      train: 'wnut17train.conll',
      dev: 'emerging.dev.conll',
      test: 'emerging.test.annotated',
    }),
  bc5cdr: (root) => splits(join(root, 'bc5cdr'), { train: 'train.tsv', dev: 'devel.tsv', test: 'test.tsv' }),
};

/** The Broad Twitter Corpus, split by its convention: section f is test, h is dev. */
function readTwitter(folder: string): TaggedSentences {
  const read = (section: string) => parseColumns(readText(folder, `${section}.conll`));
  return { train: ['a', 'b', 'e', 'g'].flatMap(read), dev: read('h'), test: read('f') };
}

function splits(
  folder: string,
  files: Readonly<Record<keyof TaggedSentences, string>>,
  wordOf: (written: string) => string = (written) => written,
): TaggedSentences {
  const read = (file: string) => parseColumns(readText(folder, file), wordOf);
  return { train: read(files.train), dev: read(files.dev), test: read(files.test) };
}

/** One word and its tag per line, a blank line between sentences. */
function parseColumns(content: string, wordOf: (written: string) => string = (written) => written): TaggedSentence[] {
  const sentences: TaggedSentence[] = [];
  let words: string[] = [];
  let tags: string[] = [];
  for (const line of [...content.split('\n'), '']) {
    const [word = '', tag = ''] = line.trim().split('\t');
    if (tag !== '') {
      words.push(wordOf(word).trim() || '?');
      tags.push(tag);
    } else if (words.length > 0) {
      sentences.push({ words, tags });
      words = [];
      tags = [];
    }
  }
  return sentences;
}
