import { join } from 'node:path';
import { nonBlankLines, readText } from '../../../../bench/datasets/files.js';
import { readers } from '../../../../bench/datasets/labelled-texts.js';
import { taggedReaders } from '../../../../bench/datasets/tagged-sentences.js';
import type { Random } from '../../../../src/system/index.js';
import { type LicenceName, requireLicence } from './licences.js';
import type { MeasuredTexts } from './measured-texts.js';
import { sentencesOf } from './sentences.js';

/**
 * Sources of the texts that a student is trained on: plain texts, and the texts (without labels) of training
 * splits.
 */

/** Under which terms texts are read, and whose they are. */
export interface Terms {
  readonly licence: LicenceName;
  /** Title and authors, as the data sheet names them. */
  readonly credit: string;
}

export interface TextSource extends Terms {
  readonly name: string;
  /** Most characters taken, so that no source outweighs the others. Default: all. */
  readonly maxCharacters?: number;
  /** @param root the folder that holds every dataset. */
  documents(root: string): readonly string[] | Promise<readonly string[]>;
}

export interface SourceOptions extends Terms {
  readonly maxCharacters?: number;
}

/** A file with an empty line between documents. */
export function plainText(
  file: string,
  options: SourceOptions,
  clean: (document: string) => string = (document) => document,
): TextSource {
  return {
    name: file,
    ...options,
    documents: (root) =>
      readText(join(root, 'pretrain_text'), file)
        .split(/\n\s*\n/u)
        .map(clean),
  };
}

/** A file whose lines are independent of each other. */
export function separateLines(file: string, options: SourceOptions): TextSource {
  return {
    name: file,
    ...options,
    documents: (root) => nonBlankLines(readText(join(root, 'pretrain_text'), file)),
  };
}

/** The part of a training split from which no dev set is taken. */
export function labelled(name: string, options: SourceOptions): TextSource {
  return {
    name,
    ...options,
    documents: (root) => readers[name]?.(root).train.map(({ text }) => text) ?? [],
  };
}

/** The same of a dataset of named entities. */
export function tagged(name: string, options: SourceOptions): TextSource {
  return {
    name,
    ...options,
    documents: (root) => taggedReaders[name]?.(root).train.map(({ words }) => words.join(' ')) ?? [],
  };
}

/** Dev and test texts of a labelled dataset. */
export function* measuredRows(name: string, root: string): Generator<string> {
  const splits = readers[name]?.(root);
  for (const { text } of [...(splits?.dev ?? []), ...(splits?.test ?? [])]) yield text;
}

export interface ReadingOptions {
  /** The folder that holds every dataset. */
  readonly datasets: string;
  readonly measured: MeasuredTexts;
  /** Decides the order of the documents, and so which of them are taken if a source has too many. */
  readonly random: Random;
}

/**
 * For each document, in random order, its sentences that may be trained on, in order.
 * @throws Error if the source has no licence that allows it.
 */
export async function* readSource(
  source: TextSource,
  { datasets, measured, random }: ReadingOptions,
): AsyncGenerator<string[]> {
  requireLicence(source);
  const { maxCharacters = Number.POSITIVE_INFINITY } = source;
  let taken = 0;
  for (const document of random.shuffle(await source.documents(datasets))) {
    if (taken >= maxCharacters) return;
    taken += document.length;
    if (measured.has(document)) continue;
    yield sentencesOf(document).filter((sentence) => !measured.has(sentence));
  }
}
