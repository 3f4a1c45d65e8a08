import { join } from 'node:path';
import { z } from 'zod';
import { nonBlankLines, readText } from '../../../../bench/datasets/files.js';
import type { QuestionPair } from '../../../../bench/datasets/questions.js';
import type { Split } from '../recipe.js';

const paperSchema = z.object({ id: z.string(), year: z.int(), title: z.string(), abstract: z.string() });
export type Paper = z.infer<typeof paperSchema>;

/** Papers of the ACL Anthology since 2016, with their abstracts. */
export function readPapers(datasets: string): Paper[] {
  const folder = join(datasets, 'acl_anthology_abstracts');
  return nonBlankLines(readText(folder, 'abstracts_2016plus.jsonl.br')).map((line) => {
    const { title, abstract, ...paper } = paperSchema.parse(JSON.parse(line));
    return { ...paper, title: oneLine(title), abstract: oneLine(abstract) };
  });
}

const oneLine = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim();

/** Of every so many papers, one is for dev. */
const DEV_STEP = 50;

/** Of every so many papers, one is trained on: each example has two long abstracts, which take time. */
const TRAIN_STEP = 8;

/** Each title asks for its abstract, which goes without the title: else the words alone would tell. */
export function titlesAsQuestions(papers: readonly Paper[]): Required<Split<QuestionPair>> {
  const pairs = papers.map(({ title, abstract }) => ({ question: title, context: abstract }));
  return {
    train: pairs.filter((_, row) => row % DEV_STEP !== 0 && row % TRAIN_STEP === 1),
    dev: pairs.filter((_, row) => row % DEV_STEP === 0),
  };
}

/** Longer abstracts are truncated (in UTF-16 code units); 12 % of them are. */
const MAX_ABSTRACT = 1200;

/**
 * What the shipped model searches: title, abstract and address of each paper, the newest first.
 * @param count as many as the size of the package allows.
 */
export function newestAbstracts(papers: readonly Paper[], count: number): string[] {
  return [...papers]
    .sort((a, b) => b.year - a.year)
    .slice(0, count)
    .map(({ id, title, abstract }) => `${asSentence(title)} ${cut(abstract)} https://aclanthology.org/${id}`);
}

const asSentence = (title: string): string => (/[.!?]$/u.test(title) ? title : `${title}.`);

/** Truncates at the end of a word. */
function cut(abstract: string): string {
  if (abstract.length <= MAX_ABSTRACT) return abstract;
  return `${abstract.slice(0, MAX_ABSTRACT).replace(/\s+\S*$/u, '')} …`;
}
