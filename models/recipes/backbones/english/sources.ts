/** Texts that English students are trained on, and texts that they must not have read. */
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { nonBlankLines, readText } from '../../../../bench/datasets/files.js';
import { readers } from '../../../../bench/datasets/labelled-texts.js';
import { questionReaders } from '../../../../bench/datasets/questions.js';
import { taggedReaders } from '../../../../bench/datasets/tagged-sentences.js';
import { labelled, measuredRows, plainText, type TextSource } from '../corpus/text-source.js';

export const sources: readonly TextSource[] = [
  plainText('en_wikipedia_core.txt.br', 32_000_000),
  plainText('en_novels_public_domain.txt.br', 5_000_000),
  plainText('en_dialogues_sgd.txt.br', 5_000_000),
  plainText('en_openstax_business_economics.txt.br', 4_000_000),
  plainText('en_masc.txt.br', 3_000_000),
  plainText('en_us_speeches_public_domain.txt.br', 2_000_000),
  plainText('en_wikinews.txt', 2_000_000),
  { name: 'acl_anthology_abstracts', maxCharacters: 4_000_000, documents: readAbstracts },
  labelled('imdb', 16_000_000),
  labelled('ag_news'),
  labelled('goemotions'),
  labelled('banking77'),
  labelled('massive_en'),
  labelled('sst2'),
  labelled('twitter_financial'),
  { name: 'sentfin', documents: (root) => column(join(root, 'sentfin'), 'SEntFiN.csv', 'Title') },
  { name: 'customer_reviews_cr', documents: readCustomerReviews },
  { name: 'davidson_hate_offensive', documents: readTweets },
  { name: 'toxic_spans', documents: (root) => column(join(root, 'toxic_spans'), 'tsd_train.csv.br', 'text') },
  { name: 'paradetox', documents: readParadetox },
  { name: 'jigsaw_subset_robtest', documents: (root) => readJigsaw(root).learned },
  tagged('wikiann_en'),
  tagged('ner_btc'),
  tagged('wnut17'),
  tagged('bc5cdr'),
  { name: 'squad_dev', documents: (root) => readSquad(root).learned },
];

/** Dev and test rows of every English dataset that the benchmarks and the catalogue report. */
export function* measuredTexts(root: string): Generator<string> {
  for (const name of Object.keys(readers)) if (name !== 'massive_ja') yield* measuredRows(name, root);
  for (const read of Object.values(taggedReaders)) {
    const { dev, test } = read(root);
    for (const { words } of [...dev, ...test]) yield words.join(' ');
  }
  for (const passage of questionReaders.scifact?.(root).passages ?? []) yield passage;
  for (const { question } of questionReaders.scifact?.(root).test ?? []) yield question;
  yield* readSquad(root).measured;
  yield* readJigsaw(root).measured;
}

function tagged(name: string): TextSource {
  return {
    name,
    documents: (root) => taggedReaders[name]?.(root).train.map(({ words }) => words.join(' ')) ?? [],
  };
}

const articleSchema = z.object({
  paragraphs: z.array(z.object({ context: z.string(), qas: z.array(z.object({ question: z.string() })) })),
});
/** The last articles, on which retrieval is measured (dev and test). */
const MEASURED_ARTICLES = 16;

/** Paragraphs and questions, article by article. */
export function readSquad(root: string): { learned: string[]; measured: string[] } {
  const json: unknown = JSON.parse(readText(join(root, 'squad_dev'), 'squad_1.1_dev.json.br'));
  const articles = z.array(articleSchema).parse(json);
  const texts = articles.map(({ paragraphs }) =>
    paragraphs.flatMap(({ context, qas }) => [context, ...qas.map(({ question }) => question.trim())]),
  );
  return {
    learned: texts.slice(0, -MEASURED_ARTICLES).flat(),
    measured: texts.slice(-MEASURED_ARTICLES).flat(),
  };
}

const abstractSchema = z.object({ title: z.string(), abstract: z.string() });

function readAbstracts(root: string): string[] {
  const lines = nonBlankLines(readText(join(root, 'acl_anthology_abstracts'), 'abstracts_2016plus.jsonl.br'));
  return lines.map((line) => {
    const { title, abstract } = abstractSchema.parse(JSON.parse(line));
    return `${title}\n${abstract}`;
  });
}

/** Each line begins with its label. */
function readCustomerReviews(root: string): string[] {
  return nonBlankLines(readText(join(root, 'customer_reviews_cr'), 'custrev.all')).map((line) =>
    line.slice(2),
  );
}

function readTweets(root: string): string[] {
  return column(join(root, 'davidson_hate_offensive'), 'labeled_data.csv.br', 'tweet').map((tweet) =>
    tweet.replaceAll(/https?:\/\/\S+|&\S+;/gu, ' '),
  );
}

/** Every wording of every comment. */
function readParadetox(root: string): string[] {
  return nonBlankLines(readText(join(root, 'paradetox'), 'paradetox.tsv.br'))
    .slice(1)
    .flatMap((line) => line.split('\t').filter((wording) => wording.trim() !== ''));
}

/** Comments sorted by label: the first half of each label may be trained on. */
export function readJigsaw(root: string): { learned: string[]; measured: string[] } {
  const rows: string[][] = parse(readText(join(root, 'jigsaw_subset_robtest'), 'test.csv.br'));
  const byLabel = new Map<string, string[]>();
  for (const [comment = '', label = ''] of rows) {
    const comments = byLabel.get(label) ?? [];
    comments.push(comment);
    byLabel.set(label, comments);
  }
  const all = [...byLabel.values()];
  const half = (comments: readonly string[]) => Math.ceil(comments.length / 2);
  return {
    learned: all.flatMap((comments) => comments.slice(0, half(comments))),
    measured: all.flatMap((comments) => comments.slice(half(comments))),
  };
}

function column(folder: string, file: string, name: string): string[] {
  const records: Record<string, string>[] = parse(readText(folder, file), { columns: true });
  return records.map((record) => record[name] ?? '');
}
