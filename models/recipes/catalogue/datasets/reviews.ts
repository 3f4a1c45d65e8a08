import { join } from 'node:path';
import { nonBlankLines, readBytes, readText } from '../../../../bench/datasets/files.js';
import type { LabelledText } from '../recipe.js';
import { zipTexts } from './zip-texts.js';

type Judgement = 'negative' | 'positive';

const judged = (text: string, label: Judgement): LabelledText => ({ text, labels: [label] });

/** Phrases that customers wrote under "pros" and "cons" (Liu, Hu & Cheng 2005). */
export async function readProsAndCons(datasets: string): Promise<LabelledText[]> {
  const files = await zipTexts(readBytes(join(datasets, 'nltk_reviews'), 'pros_cons.zip'));
  const phrases = (file: string, label: Judgement) =>
    [...(files.get(`pros_cons/${file}`) ?? '').matchAll(/<(Pros|Cons)>(.*?)<\/\1>/gu)].flatMap(([, , phrase = '']) =>
      phrase.trim() === '' ? [] : [judged(phrase.trim(), label)],
    );
  return [...phrases('IntegratedPros.txt', 'positive'), ...phrases('IntegratedCons.txt', 'negative')];
}

/** Whole reviews of films (Pang & Lee 2004), in lower case and cut into words. */
export async function readMovieReviews(datasets: string): Promise<LabelledText[]> {
  const files = await zipTexts(readBytes(join(datasets, 'nltk_reviews'), 'movie_reviews.zip.br'));
  return [...files].flatMap(([path, review]) => {
    const [, folder] = /^movie_reviews\/(neg|pos)\/.*\.txt$/u.exec(path) ?? [];
    if (folder === undefined || review.trim() === '') return [];
    return [judged(review.replaceAll(/\s+/gu, ' ').trim(), folder === 'pos' ? 'positive' : 'negative')];
  });
}

/** Sentences about products (Hu & Liu 2004). */
export function readCustomerReviews(datasets: string): LabelledText[] {
  const content = readText(join(datasets, 'customer_reviews_cr'), 'custrev.all');
  return nonBlankLines(content).flatMap((line) => {
    const [, id, sentence] = /^([01]) (.*\S)\s*$/u.exec(line) ?? [];
    return sentence === undefined ? [] : [judged(sentence, id === '1' ? 'positive' : 'negative')];
  });
}
