import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { nonBlankLines, readText } from '../../../../bench/datasets/files.js';
import { readers } from '../../../../bench/datasets/labelled-texts.js';
import { questionReaders } from '../../../../bench/datasets/questions.js';
import { taggedReaders } from '../../../../bench/datasets/tagged-sentences.js';
import { readCustomerReviews, readMovieReviews, readProsAndCons } from '../../catalogue/datasets/reviews.js';
import { labelled, measuredRows, plainText, type TextSource, tagged } from '../corpus/text-source.js';
import type { LeftOut } from '../recipe.js';

/** Texts that English students are trained on, and texts that they must not have read. */

/**
 * Of encyclopedias, novels, speeches and papers only a part, so that most of what is read is what people write to each
 * other, to companies and about products: a small student sees too little of these otherwise.
 */
export const sources: readonly TextSource[] = [
  plainText('en_wikipedia_core.txt.br', {
    licence: 'CC BY-SA 3.0',
    credit: 'Wikipedia, core topics',
    maxCharacters: 10_000_000,
  }),
  plainText('en_novels_public_domain.txt.br', {
    licence: 'public domain',
    credit: '100 English novels of the 19th and early 20th century (Computational Stylistics Group)',
    maxCharacters: 2_000_000,
  }),
  plainText('en_dialogues_sgd.txt.br', {
    licence: 'CC BY-SA 4.0',
    credit: 'Schema-Guided Dialogue (Rastogi et al. 2020)',
    maxCharacters: 5_000_000,
  }),
  plainText('en_openstax_business_economics.txt.br', {
    licence: 'CC BY 4.0',
    credit: 'OpenStax: Introduction to Business, Principles of Economics',
    maxCharacters: 1_000_000,
  }),
  plainText('en_masc.txt.br', {
    licence: 'MASC, unrestricted',
    credit: 'Manually Annotated Sub-Corpus of the American National Corpus (Ide et al. 2010)',
  }),
  plainText('en_us_speeches_public_domain.txt.br', {
    licence: 'public domain',
    credit: 'State of the Union and inaugural addresses',
    maxCharacters: 500_000,
  }),
  plainText('en_wikinews.txt', { licence: 'CC BY 2.5', credit: 'English Wikinews' }),
  {
    name: 'acl_anthology_abstracts',
    licence: 'CC BY 4.0',
    credit: 'ACL Anthology, abstracts of 2016 to 2021, by their authors',
    maxCharacters: 1_000_000,
    documents: readAbstracts,
  },
  {
    name: 'movie_reviews',
    licence: 'CC BY 4.0',
    credit: 'Movie reviews 2.0 (Pang & Lee 2004), as distributed with NLTK',
    documents: async (root) => textsOf(await readMovieReviews(root)),
  },
  {
    name: 'pros_cons',
    licence: 'CC BY 4.0',
    credit: 'Pros and cons of products (Liu, Hu & Cheng 2005), as distributed with NLTK',
    documents: async (root) => textsOf(await readProsAndCons(root)),
  },
  {
    name: 'customer_reviews_cr',
    licence: 'CC BY 4.0',
    credit: 'Customer reviews (Hu & Liu 2004)',
    documents: (root) => textsOf(readCustomerReviews(root)),
  },
  labelled('goemotions', { licence: 'Apache-2.0', credit: 'GoEmotions, train (Demszky et al. 2020)' }),
  labelled('banking77', { licence: 'CC BY 4.0', credit: 'Banking77, train (Casanueva et al. 2020)' }),
  labelled('massive_en', { licence: 'CC BY 4.0', credit: 'MASSIVE en-US, train (FitzGerald et al. 2023)' }),
  {
    name: 'sentfin',
    licence: 'MIT',
    credit: 'SEntFiN 1.0 (Sinha et al. 2022)',
    documents: (root) => column(join(root, 'sentfin'), 'SEntFiN.csv', 'Title'),
  },
  {
    name: 'davidson_hate_offensive',
    licence: 'MIT',
    credit: 'Hate speech and offensive language (Davidson et al. 2017)',
    documents: readTweets,
  },
  {
    name: 'toxic_spans',
    licence: 'CC0 1.0',
    credit: 'Toxic Spans, train (Pavlopoulos et al. 2021)',
    documents: (root) => column(join(root, 'toxic_spans'), 'tsd_train.csv.br', 'text'),
  },
  {
    name: 'paradetox',
    licence: 'CC0 1.0',
    credit: 'ParaDetox (Logacheva et al. 2022)',
    documents: readParadetox,
  },
  tagged('ner_btc', {
    licence: 'CC BY 4.0',
    credit: 'Broad Twitter Corpus, sections a, b, e, g (Derczynski et al. 2016)',
  }),
  tagged('wnut17', { licence: 'CC BY 4.0', credit: 'WNUT17, train (Derczynski et al. 2017)' }),
  tagged('bc5cdr', { licence: 'CC BY 4.0', credit: 'BC5CDR, train (Li et al. 2016; Crichton et al. 2017)' }),
  {
    name: 'squad_dev',
    licence: 'CC BY-SA 4.0',
    credit: 'SQuAD 1.1, first 32 articles of dev (Rajpurkar et al. 2016)',
    documents: (root) => readSquad(root).learned,
  },
];

/** Datasets at hand that no backbone reads, and why; the data sheet says so. */
export const leftOut: readonly LeftOut[] = [
  { name: 'AG News', reason: 'given for non-commercial use' },
  { name: 'IMDB', reason: 'no licence is stated' },
  { name: 'SST-2', reason: 'no licence is stated; published for research' },
  { name: 'Twitter financial news sentiment', reason: 'no licence is stated where it was found' },
  { name: 'WikiANN', reason: 'no licence is stated where it was found' },
  { name: 'Jigsaw toxic comments', reason: 'no licence is stated where the subset was found' },
];

const textsOf = (rows: readonly { readonly text: string }[]): string[] => rows.map(({ text }) => text);

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
