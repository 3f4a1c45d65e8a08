/**
 * What is checked once all sentences are known: that there is something to learn, and what is worth a
 * warning.
 */
import {
  counted,
  type DatasetLocation,
  type DatasetWarning,
  type ProblemList,
  quoted,
  someOf,
  warnAbout,
} from '../../datasets/index.js';
import { isPauseDue, pacedFilter, pacedMap, pause } from '../../pauses.js';
import { entityTypes } from './bio-tags.js';
import { checkSentence, type TagRules, type WrittenSentence } from './check-sentence.js';
import type { LocatedSentence } from './sequence-dataset.js';

/** The sentences of one split, and the lines that were left out. */
export interface CheckedSplit {
  /** What warnings call it. */
  readonly name: string;
  readonly sentences: readonly LocatedSentence[];
  /** Places where words and tags are both missing. */
  readonly emptyLines: readonly DatasetLocation[];
}

/** Checks every sentence of a split; those with neither words nor tags are left out. */
export async function checkSentences(
  name: string,
  written: readonly WrittenSentence[],
  rules: TagRules,
  problems: ProblemList,
  signal?: AbortSignal,
): Promise<CheckedSplit> {
  const sentences: LocatedSentence[] = [];
  const emptyLines: DatasetLocation[] = [];
  for (const each of written) {
    if (isPauseDue()) await pause(signal);
    if (each.words.length === 0 && each.tags.length === 0) emptyLines.push(each);
    else {
      const sentence = checkSentence(each, rules, problems);
      if (sentence) sentences.push(sentence);
    }
  }
  return { name, sentences, emptyLines };
}

/** Adds a problem if the sentences to train on have no entity. */
export function checkTrainable(
  tags: readonly string[],
  { sentences: train }: CheckedSplit,
  file: string,
  problems: ProblemList,
): void {
  if (train.length === 0 || typesIn(train, tags).size > 0) return;
  problems.add({ file, found: 'found no entity, every tag is O', expected: 'sentences with entities' });
}

/** Warnings about a dataset. Sentences are the same if their words are, letter for letter. */
export async function findWarnings(
  tags: readonly string[],
  train: CheckedSplit,
  dev: CheckedSplit,
  signal?: AbortSignal,
): Promise<readonly DatasetWarning[]> {
  return [
    ...repairWarnings([...train.sentences, ...dev.sentences]),
    ...emptyWarnings([...train.emptyLines, ...dev.emptyLines]),
    ...(await repetitionWarnings(train, signal)),
    ...(await leakWarnings(train, dev, signal)),
    ...typeWarnings(tags, train),
    ...typeWarnings(tags, dev),
  ];
}

function repairWarnings(all: readonly LocatedSentence[]): readonly DatasetWarning[] {
  const repaired = all.filter(({ isRepaired }) => isRepaired);
  const message = `${sentences(repaired)} with an I- tag that continues no entity; it is read as B-, as conlleval does`;
  return warnAbout('inside_without_begin', repaired, message);
}

function emptyWarnings(lines: readonly DatasetLocation[]): readonly DatasetWarning[] {
  return warnAbout('empty_sentence', lines, `${sentences(lines)} without words left out`);
}

async function repetitionWarnings(
  { name, sentences: all }: CheckedSplit,
  signal: AbortSignal | undefined,
): Promise<readonly DatasetWarning[]> {
  const seen = new Map<string, Set<string>>();
  const duplicates: DatasetLocation[] = [];
  const conflicts: DatasetLocation[] = [];
  for (const sentence of all) {
    if (isPauseDue()) await pause(signal);
    const tags = sentence.tags.join();
    const earlier = seen.get(textOf(sentence));
    if (earlier === undefined) seen.set(textOf(sentence), new Set([tags]));
    else if (earlier.has(tags)) duplicates.push(sentence);
    else {
      earlier.add(tags);
      conflicts.push(sentence);
    }
  }
  const ofConflicts = `${sentences(conflicts)} of ${name} with the words of an earlier one but other tags`;
  return [
    ...warnAbout('duplicate_row', duplicates, `${sentences(duplicates)} of ${name} repeated`),
    ...warnAbout('conflicting_labels', conflicts, ofConflicts),
  ];
}

async function leakWarnings(
  train: CheckedSplit,
  dev: CheckedSplit,
  signal: AbortSignal | undefined,
): Promise<readonly DatasetWarning[]> {
  const devTexts = new Set(await pacedMap(dev.sentences, textOf, signal));
  const shared = await pacedFilter(train.sentences, (sentence) => devTexts.has(textOf(sentence)), signal);
  const message = `${sentences(shared)} of ${train.name} also in ${dev.name}, so the figures measured there are too good`;
  return warnAbout('train_row_in_dev', shared, message);
}

function typeWarnings(tags: readonly string[], split: CheckedSplit): readonly DatasetWarning[] {
  const used = typesIn(split.sentences, tags);
  const missing = entityTypes(tags).filter((type) => !used.has(type));
  if (missing.length === 0) return [];
  const listed = someOf(missing.map((type) => quoted(type)));
  const message = `no sentence of ${split.name} has an entity of ${missing.length === 1 ? 'type' : 'the types'} ${listed}`;
  return [{ kind: 'class_without_examples', count: missing.length, message, examples: [] }];
}

function typesIn(all: readonly LocatedSentence[], tags: readonly string[]): ReadonlySet<string> {
  const ids = new Set(all.flatMap((sentence) => sentence.tags));
  return new Set(entityTypes(tags.filter((_, id) => ids.has(id))));
}

/** The words in one string, which is unambiguous, as words contain no spaces. */
export function textOf({ words }: { readonly words: readonly string[] }): string {
  return words.join(' ');
}

function sentences(list: readonly unknown[]): string {
  return counted(list.length, 'sentence');
}
