import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { Random } from '../../src/system/index.js';
import { nonBlankLines, readText } from './files.js';

/** Readers of the labelled datasets in the datasets folder; see bench/README.md for its layout. */

export interface Row {
  readonly text: string;
  readonly labels: readonly string[];
}

/** A dataset with its publishers' split, or the split that its reader's comment describes. */
export interface LabelledTexts {
  /** `language` of the training job. Default: english. */
  readonly language?: string;
  readonly type: 'binary-text-classification' | 'multiclass-text-classification' | 'multilabel-text-classification';
  readonly labels: readonly string[];
  readonly train: readonly Row[];
  readonly dev: readonly Row[];
  readonly test: readonly Row[];
}

/** Readers by the name of the measurement; each is given the folder that holds every dataset. */
export const readers: Readonly<Record<string, (root: string) => LabelledTexts>> = {
  sst2: (root) => readSst2(join(root, 'sst2')),
  banking77: (root) => readBanking(join(root, 'banking77')),
  banking77_10: (root) => tenOfEachLabel(readBanking(join(root, 'banking77'))),
  massive_en: (root) => readMassive(join(root, 'massive'), 'en-US'),
  massive_ja: (root) => readMassive(join(root, 'massive'), 'ja-JP'),
  twitter_financial: (root) => readTwitterFinancial(join(root, 'twitter_financial_sentiment')),
  goemotions: (root) => readGoEmotions(join(root, 'goemotions')),
  ag_news: (root) => readAgNews(join(root, 'ag_news')),
  imdb: (root) => readImdb(join(root, 'imdb')),
};

function readSst2(folder: string): LabelledTexts {
  const labels = ['negative', 'positive'];
  const read = (file: string): Row[] =>
    nonBlankLines(readText(folder, file)).flatMap((line) => {
      const [sentence = '', id] = line.split('\t');
      const label = labels[Number(id)];
      return label === undefined ? [] : [{ text: sentence, labels: [label] }];
    });
  return {
    type: 'binary-text-classification',
    labels,
    train: read('train.tsv'),
    dev: read('dev.tsv'),
    test: read('test.tsv'),
  };
}

/** Title and description joined; every 20th recovered training row becomes a dev row. */
function readAgNews(folder: string): LabelledTexts {
  const labels = nonBlankLines(readText(folder, 'classes.txt'));
  const read = (file: string): Row[] => {
    const options = { relax_column_count: true, relax_quotes: true };
    const records: string[][] = parse(readText(folder, file), options);
    return records.flatMap(([id, title = '', description = '']) => {
      const label = labels[Number(id) - 1];
      const joined = `${title} ${description}`.replaceAll('\\', ' ').trim();
      return label === undefined ? [] : [{ text: joined, labels: [label] }];
    });
  };
  const recovered = read('train_recovered.csv.br');
  return {
    type: 'multiclass-text-classification',
    labels,
    train: recovered.filter((_, row) => row % 20 !== 0),
    dev: recovered.filter((_, row) => row % 20 === 0),
    test: read('test.csv.br'),
  };
}

function readGoEmotions(folder: string): LabelledTexts {
  const labels = nonBlankLines(readText(folder, 'labels.txt')).map((label) => label.trim());
  const read = (file: string): Row[] =>
    nonBlankLines(readText(folder, file)).map((line) => {
      const [comment = '', ids = ''] = line.split('\t');
      return { text: comment, labels: ids.split(',').flatMap((id) => labels[Number(id)] ?? []) };
    });
  return {
    type: 'multilabel-text-classification',
    labels,
    train: read('train.tsv.br'),
    dev: read('dev.tsv'),
    test: read('test.tsv'),
  };
}

/** A tenth of the training rows, drawn at random with a fixed seed, become dev rows. */
function holdOut(rows: readonly Row[]): { train: Row[]; dev: Row[] } {
  const shuffled = Random.fromSeed(1).shuffle([...rows]);
  const devRows = Math.round(rows.length / 10);
  return { train: shuffled.slice(devRows), dev: shuffled.slice(0, devRows) };
}

function readBanking(folder: string): LabelledTexts {
  const read = (file: string): Row[] => {
    const records: Record<'text' | 'category', string>[] = parse(readText(folder, file), { columns: true });
    return records.map((record) => ({ text: record.text, labels: [record.category] }));
  };
  return {
    type: 'multiclass-text-classification',
    labels: z.array(z.string()).parse(JSON.parse(readText(folder, 'categories.json'))),
    ...holdOut(read('train.csv')),
    test: read('test.csv'),
  };
}

/** Ten training rows per label, and three more for dev. */
function tenOfEachLabel({ train, dev, ...rest }: LabelledTexts): LabelledTexts {
  const seen = new Map<string, number>();
  const rank = ({ labels: [label = ''] }: Row): number => {
    const before = seen.get(label) ?? 0;
    seen.set(label, before + 1);
    return before;
  };
  const ranked = [...train, ...dev].map((row) => ({ row, rank: rank(row) }));
  const ranksIn = (from: number, to: number) =>
    ranked.filter((each) => each.rank >= from && each.rank < to).map(({ row }) => row);
  return { ...rest, train: ranksIn(0, 10), dev: ranksIn(10, 13) };
}

const massiveLine = z.object({
  partition: z.enum(['train', 'dev', 'test']),
  intent: z.string(),
  utt: z.string(),
});

function readMassive(folder: string, locale: 'en-US' | 'ja-JP'): LabelledTexts {
  const all = nonBlankLines(readText(folder, `${locale}.jsonl.br`)).map((line) => massiveLine.parse(JSON.parse(line)));
  const read = (wanted: string): Row[] =>
    all.flatMap(({ partition, intent, utt }) => (partition === wanted ? [{ text: utt, labels: [intent] }] : []));
  return {
    type: 'multiclass-text-classification',
    language: locale === 'ja-JP' ? 'japanese' : 'english',
    labels: [...new Set(all.map(({ intent }) => intent))].sort(),
    train: read('train'),
    dev: read('dev'),
    test: read('test'),
  };
}

/** The publisher's validation rows are the test rows here; URLs are removed from the tweets. */
function readTwitterFinancial(folder: string): LabelledTexts {
  const labels = ['bearish', 'bullish', 'neutral'];
  const read = (file: string): Row[] => {
    const records: Record<'text' | 'label', string>[] = parse(readText(folder, file), { columns: true });
    return records.flatMap((record) => {
      const label = labels[Number(record.label)];
      const tweet = record.text.replaceAll(/https?:\/\/\S+/g, '').trim();
      return label === undefined || tweet === '' ? [] : [{ text: tweet, labels: [label] }];
    });
  };
  return {
    type: 'multiclass-text-classification',
    labels,
    ...holdOut(read('sent_train.csv')),
    test: read('sent_valid.csv'),
  };
}

const imdbLine = z.object({ label: z.enum(['neg', 'pos']), text: z.string() });

function readImdb(folder: string): LabelledTexts {
  const read = (file: string): Row[] =>
    nonBlankLines(readText(folder, file)).map((line) => {
      const review = imdbLine.parse(JSON.parse(line));
      return { text: review.text, labels: [review.label] };
    });
  return {
    type: 'binary-text-classification',
    labels: ['neg', 'pos'],
    ...holdOut(read('train.jsonl.br')),
    test: read('test.jsonl.br'),
  };
}
