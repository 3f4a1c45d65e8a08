import { join } from 'node:path';
import { z } from 'zod';
import { nonBlankLines, readText } from './files.js';

/** Readers of the retrieval datasets in the datasets folder; see bench/README.md for its layout. */

export interface QuestionPair {
  readonly question: string;
  readonly context: string;
}

export interface TestQuestion {
  readonly question: string;
  /** The passages that answer it. */
  readonly contexts: readonly string[];
}

export interface Questions {
  /** Everything that is searched. */
  readonly passages: readonly string[];
  readonly train: readonly QuestionPair[];
  readonly dev: readonly QuestionPair[];
  readonly test: readonly TestQuestion[];
}

/** Readers by the name of the measurement; each is given the folder that holds every dataset. */
export const questionReaders: Readonly<Record<string, (root: string) => Questions>> = {
  squad_dev: (root) => readSquad(join(root, 'squad_dev')),
  scifact: (root) => readScifact(join(root, 'scifact')),
};

const articleSchema = z.object({
  paragraphs: z.array(z.object({ context: z.string(), qas: z.array(z.object({ question: z.string() })) })),
});

const TEST_ARTICLES = 12;
const DEV_ARTICLES = 4;

/** The questions of each article of SQuAD. @param folder of SQuAD. */
export function readSquadArticles(folder: string): QuestionPair[][] {
  const json: unknown = JSON.parse(readText(folder, 'squad_1.1_dev.json.br'));
  return z
    .array(articleSchema)
    .parse(json)
    .map(({ paragraphs }) =>
      paragraphs.flatMap(({ context, qas }) =>
        qas.map(({ question }) => ({ question: question.trim(), context: oneLine(context) })),
      ),
    );
}

/** The last 12 articles for test, the 4 before them for dev; the paragraphs of all 48 are searched. */
function readSquad(folder: string): Questions {
  const pairs = readSquadArticles(folder);
  const test = pairs.length - TEST_ARTICLES;
  return {
    passages: pairs.flatMap((article) => [...new Set(article.map(({ context }) => context))]),
    train: pairs.slice(0, test - DEV_ARTICLES).flat(),
    dev: pairs.slice(test - DEV_ARTICLES, test).flat(),
    test: pairs
      .slice(test)
      .flat()
      .map(({ question, context }) => ({ question, contexts: [context] })),
  };
}

const oneLine = (text: string): string => text.replace(/\s+/gu, ' ').trim();

const documentSchema = z.object({ doc_id: z.string(), title: z.string(), abstract: z.string() });
const querySchema = z.object({ _id: z.string(), text: z.string() });
/** Of every so many training queries, one becomes a dev query. */
const DEV_STEP = 8;

/** An abstract of SciFact's collection. */
export interface ScifactDocument {
  readonly id: string;
  readonly title: string;
  readonly abstract: string;
}

const parseLines = <Value>(folder: string, file: string, schema: z.ZodType<Value>): Value[] =>
  nonBlankLines(readText(folder, file)).map((line) => schema.parse(JSON.parse(line)));

/** @param folder of SciFact. */
export function readScifactDocuments(folder: string): ScifactDocument[] {
  return parseLines(folder, 'corpus.jsonl.br', documentSchema).map(({ doc_id, title, abstract }) => ({
    id: doc_id,
    title: oneLine(title),
    abstract: oneLine(abstract),
  }));
}

/** An abstract after its title, as it is searched. */
export const scifactPassage = ({ title, abstract }: ScifactDocument): string => oneLine(`${title} ${abstract}`);

/** Claims as questions, abstracts (after their title) as passages, with BEIR's judgements. */
function readScifact(folder: string): Questions {
  const documents = new Map(readScifactDocuments(folder).map((document) => [document.id, scifactPassage(document)]));
  const queries = new Map(
    parseLines(folder, 'beir_queries.jsonl', querySchema).map(({ _id, text }) => [_id, oneLine(text)]),
  );
  const judged = (file: string): TestQuestion[] => {
    const contexts = new Map<string, string[]>();
    for (const line of nonBlankLines(readText(folder, file)).slice(1)) {
      const [query = '', document = ''] = line.split('\t');
      contexts.set(query, [...(contexts.get(query) ?? []), documents.get(document) ?? '']);
    }
    return [...contexts].map(([query, found]) => ({ question: queries.get(query) ?? '', contexts: found }));
  };
  const training = judged('beir_qrels_train.tsv');
  const pairs = (questions: readonly TestQuestion[]): QuestionPair[] =>
    questions.flatMap(({ question, contexts }) => contexts.map((context) => ({ question, context })));
  return {
    passages: [...documents.values()],
    train: pairs(training.filter((_, at) => at % DEV_STEP !== 0)),
    dev: pairs(training.filter((_, at) => at % DEV_STEP === 0)),
    test: judged('beir_qrels_test.tsv'),
  };
}
