/** Comments that people found toxic, and others; each source has its own idea of what that is. */
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { nonBlankLines, readText } from '../../../../bench/datasets/files.js';
import type { LabelledText } from '../recipe.js';

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

/** Comments with at least one span that the annotators found toxic (Pavlopoulos et al. 2021); the others stay out. */
export function readToxicSpans(datasets: string): LabelledText[] {
  return ['tsd_train.csv.br', 'tsd_trial.csv', 'tsd_test.csv'].flatMap((file) => {
    const content = readText(join(datasets, 'toxic_spans'), file);
    const records: Record<'spans' | 'text', string>[] = parse(content, { columns: true });
    return records.flatMap(({ spans, text }) => (spans === '[]' ? [] : judged(text, 'toxic')));
  });
}

/** Davidson et al. 2017: 0 hate speech, 1 offensive language, 2 neither. */
const NEITHER = '2';

/** Tweets; hate speech and offensive language count as toxic. Addresses of pages and names of users are taken out. */
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
 * Comments of Wikipedia's talk pages. The file has all comments of one label before those of the other, so it is halved
 * within each label: the first halves may be learned from, models are measured on the second ones.
 */
export function readJigsaw(datasets: string): { train: LabelledText[]; test: LabelledText[] } {
  const records: string[][] = parse(readText(join(datasets, 'jigsaw_subset_robtest'), 'test.csv.br'));
  const rowsOf = (id: string, label: Judgement) =>
    records.flatMap(([comment, found]) => (found === id ? judged(comment, label) : []));
  const labels = [rowsOf('0', 'non-toxic'), rowsOf('1', 'toxic')];
  const half = (rows: readonly LabelledText[]) => Math.ceil(rows.length / 2);
  return {
    train: labels.flatMap((rows) => rows.slice(0, half(rows))),
    test: labels.flatMap((rows) => rows.slice(half(rows))),
  };
}
