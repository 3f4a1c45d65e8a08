/**
 * Sources of the texts that a student is trained on: plain texts, and the texts (without labels) of training
 * splits.
 */
import { join } from 'node:path';
import { nonBlankLines, readText } from '../../../../bench/datasets/files.js';
import { readers } from '../../../../bench/datasets/labelled-texts.js';
import type { Random } from '../../../../src/random.js';
import type { MeasuredTexts } from './measured-texts.js';
import { sentencesOf } from './sentences.js';

export interface TextSource {
  readonly name: string;
  /** Most characters taken, so that no source outweighs the others. Default: all. */
  readonly maxCharacters?: number;
  /** @param root the folder that holds every dataset. */
  documents(root: string): readonly string[];
}

/** A file with an empty line between documents. */
export function plainText(
  file: string,
  maxCharacters?: number,
  clean: (document: string) => string = (document) => document,
): TextSource {
  return {
    name: file,
    ...(maxCharacters !== undefined && { maxCharacters }),
    documents: (root) =>
      readText(join(root, 'pretrain_text'), file)
        .split(/\n\s*\n/u)
        .map(clean),
  };
}

/** A file whose lines are independent of each other. */
export function separateLines(file: string): TextSource {
  return { name: file, documents: (root) => nonBlankLines(readText(join(root, 'pretrain_text'), file)) };
}

/** The part of a training split from which no dev set is taken. */
export function labelled(name: string, maxCharacters?: number): TextSource {
  return {
    name,
    ...(maxCharacters !== undefined && { maxCharacters }),
    documents: (root) => readers[name]?.(root).train.map(({ text }) => text) ?? [],
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

/** For each document, in random order, its sentences that may be trained on, in order. */
export function* readSource(
  { documents, maxCharacters = Number.POSITIVE_INFINITY }: TextSource,
  { datasets, measured, random }: ReadingOptions,
): Generator<string[]> {
  let taken = 0;
  for (const document of random.shuffle(documents(datasets))) {
    if (taken >= maxCharacters) return;
    taken += document.length;
    if (measured.has(document)) continue;
    yield sentencesOf(document).filter((sentence) => !measured.has(sentence));
  }
}
