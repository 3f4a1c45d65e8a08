/** Readers of the labelled datasets that lie beside the project; see bench/README.md for their layout. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';

export interface Row {
  readonly text: string;
  readonly labels: readonly string[];
}

/** A dataset split as its publishers split it, or as said at its reader. */
export interface LabelledTexts {
  readonly type:
    | 'binary-text-classification'
    | 'multiclass-text-classification'
    | 'multilabel-text-classification';
  readonly labels: readonly string[];
  readonly train: readonly Row[];
  readonly dev: readonly Row[];
  readonly test: readonly Row[];
}

/** Readers by the name of their folder. */
export const readers: Readonly<Record<string, (folder: string) => LabelledTexts>> = {
  sst2: readSst2,
  ag_news: readAgNews,
  goemotions: readGoEmotions,
};

function text(folder: string, file: string): string {
  const bytes = readFileSync(join(folder, file));
  return (file.endsWith('.br') ? brotliDecompressSync(bytes) : bytes).toString('utf8');
}

const lines = (content: string): string[] => content.split('\n').filter((line) => line.trim() !== '');

function readSst2(folder: string): LabelledTexts {
  const labels = ['negative', 'positive'];
  const read = (file: string): Row[] =>
    lines(text(folder, file)).flatMap((line) => {
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

/** Title and description joined; every 20th recovered training row is taken for dev. */
function readAgNews(folder: string): LabelledTexts {
  const labels = lines(text(folder, 'classes.txt'));
  const read = (file: string): Row[] => {
    const options = { relax_column_count: true, relax_quotes: true };
    const records: string[][] = parse(text(folder, file), options);
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
  const labels = lines(text(folder, 'labels.txt')).map((label) => label.trim());
  const read = (file: string): Row[] =>
    lines(text(folder, file)).map((line) => {
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
