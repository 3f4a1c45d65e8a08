import { join } from 'node:path';
import {
  type QuestionPair,
  readScifactDocuments,
  type ScifactDocument,
  scifactPassage,
} from '../../../../bench/datasets/questions.js';
import { sentencesOf } from '../../backbones/corpus/sentences.js';
import type { Split } from '../recipe.js';
import { questions } from './published.js';

/** A shorter last sentence (in UTF-16 code units) says too little to ask for the abstract that it ends. */
const SHORTEST_CONCLUSION = 40;

/**
 * Titles and last sentences of SciFact's abstracts as questions: each asks for its abstract without it. Left out are
 * abstracts that a claim of train, dev or test is about, so that none of those is seen without its claims.
 */
export function claimlessAbstracts(datasets: string): Split<QuestionPair> {
  const { train, dev, test } = questions('scifact', datasets);
  const judged = new Set([
    ...[...train, ...dev].map(({ context }) => context),
    ...test.flatMap(({ contexts }) => contexts),
  ]);
  const documents = readScifactDocuments(join(datasets, 'scifact'));
  return {
    train: documents.filter((document) => !judged.has(scifactPassage(document))).flatMap(questionsOf),
  };
}

/** None of the two has words that the other has only because they were copied. */
function questionsOf({ title, abstract }: Omit<ScifactDocument, 'id'>): QuestionPair[] {
  const conclusion = sentencesOf(abstract).at(-1) ?? '';
  const rest = abstract.slice(0, abstract.length - conclusion.length).trimEnd();
  const byTitle = { question: title, context: abstract };
  if (conclusion.length < SHORTEST_CONCLUSION || rest === '') return [byTitle];
  return [byTitle, { question: conclusion, context: `${title} ${rest}` }];
}
