import { join } from 'node:path';
import { readText } from '../../../../bench/datasets/files.js';
import { reviewSentences } from './sentences.js';

/** Sentences of plain texts that have no labels. */

const read = (file: string, datasets: string): string => readText(join(datasets, 'pretrain_text'), file);

const sentencesIn = (file: string) => (datasets: string) => reviewSentences([{ text: read(file, datasets) }]);

export const encyclopediaSentences = sentencesIn('en_wikipedia_core.txt.br');
export const newsSentences = sentencesIn('en_wikinews.txt');
export const economicsSentences = sentencesIn('en_openstax_business_economics.txt.br');

/** What people and an assistant say to each other. */
export const dialogueTurns = (datasets: string): string[] =>
  read('en_dialogues_sgd.txt.br', datasets)
    .split('\n')
    .map((turn) => turn.trim())
    .filter((turn) => turn !== '');

/** Paragraphs of news reports. */
export const newsParagraphs = (datasets: string): string[] => paragraphs(read('en_wikinews.txt', datasets));
export const encyclopediaParagraphs = (datasets: string): string[] =>
  paragraphs(read('en_wikipedia_core.txt.br', datasets));

const paragraphs = (text: string): string[] =>
  text
    .split('\n')
    .map((paragraph) => paragraph.trim())
    .filter(({ length }) => length >= 60 && length <= 600);
