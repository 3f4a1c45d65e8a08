import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { nonBlankLines, readText } from '../../../../bench/datasets/files.js';
import type { LabelledText } from '../recipe.js';

/** Comments that people found toxic, and others. Each source has its own definition of toxic. */

type Judgement = 'non-toxic' | 'toxic';

function judged(text: string | undefined, label: Judgement): LabelledText[] {
  const comment = text?.replaceAll(/\s+/gu, ' ').trim() ?? '';
  return comment === '' ? [] : [{ text: comment, labels: [label] }];
}

/** Toxic sentences, each with up to three rewordings that say the same politely (Logacheva et al. 2022). */
export function readParadetox(datasets: string): LabelledText[] {
  const [, ...lines] = nonBlankLines(readText(join(datasets, 'paradetox'), 'paradetox.tsv.br'));
  return lines.flatMap((line) => {
    const [toxic, ...rewordings] = line.split('\t');
    return [...judged(toxic, 'toxic'), ...rewordings.flatMap((each) => judged(each, 'non-toxic'))];
  });
}

/**
 * Comments with at least one span that the annotators found toxic (Pavlopoulos et al. 2021); other comments
 * are left out.
 */
export function readToxicSpans(datasets: string): LabelledText[] {
  return ['tsd_train.csv.br', 'tsd_trial.csv', 'tsd_test.csv'].flatMap((file) => {
    const content = readText(join(datasets, 'toxic_spans'), file);
    const records: Record<'spans' | 'text', string>[] = parse(content, { columns: true });
    return records.flatMap(({ spans, text }) => (spans === '[]' ? [] : judged(text, 'toxic')));
  });
}

/** Davidson et al. 2017: 0 hate speech, 1 offensive language, 2 neither. */
const NEITHER = '2';

/** Tweets; hate speech and offensive language count as toxic. URLs and user names are removed. */
export function readTweets(datasets: string): LabelledText[] {
  const content = readText(join(datasets, 'davidson_hate_offensive'), 'labeled_data.csv.br');
  const records: Record<'class' | 'tweet', string>[] = parse(content, { columns: true });
  return records.flatMap((record) =>
    judged(plainTweet(record.tweet), record.class === NEITHER ? 'non-toxic' : 'toxic'),
  );
}

const namedEntities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };

function plainTweet(tweet: string): string {
  return tweet
    .replaceAll(/&#(\d{1,6});/gu, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll(/&(\w+);/gu, (entity, name: string) => namedEntities[name] ?? entity)
    .replaceAll(/https?:\/\/\S+/gu, ' ')
    .replaceAll(/@\w+/gu, '@user');
}

/**
 * Indices of rows of which the bundled backbone has read a passage, unlabelled: its corpus took the first
 * half of the file, which was thought to be in random order. No model is measured on these rows.
 */
const readByBackbone: ReadonlySet<number> = new Set(
  z.array(z.int()).parse(JSON.parse(readFileSync(new URL('jigsaw-read.json', import.meta.url), 'utf8'))),
);

/**
 * Comments of Wikipedia's talk pages. The file is sorted by label, so it is halved within each label: the
 * first halves may be trained on, and models are measured on equally many of each label from the second
 * halves.
 */
export function readJigsaw(datasets: string): { train: LabelledText[]; test: LabelledText[] } {
  const records: string[][] = parse(readText(join(datasets, 'jigsaw_subset_robtest'), 'test.csv.br'));
  const halves = [halved(records, '0', 'non-toxic'), halved(records, '1', 'toxic')];
  const each = Math.min(...halves.map(({ test }) => test.length));
  return {
    train: halves.flatMap(({ train }) => train),
    test: halves.flatMap(({ test }) => test.slice(0, each)),
  };
}

function halved(records: readonly string[][], id: string, label: Judgement) {
  const rows = records.flatMap(([comment, found], row) =>
    found === id ? judged(comment, label).map((text) => ({ row, text })) : [],
  );
  const half = Math.ceil(rows.length / 2);
  const unread = rows.slice(half).filter(({ row }) => !readByBackbone.has(row));
  const texts = (some: typeof rows) => some.map(({ text }) => text);
  return { train: texts(rows.slice(0, half)), test: texts(unread) };
}
