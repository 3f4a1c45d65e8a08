/**
 * `npx tsx models/recipes/backbones/japanese/main.ts <step> …`: README.md beside this file says what each
 * step does.
 */
import { parseArgs } from 'node:util';
import { loadTokenizer } from '../../../../src/tokenizer/index.js';
import { neighbourLines } from '../corpus/neighbours.js';
import { writeCorpus } from '../corpus/write-corpus.js';
import { commonOptions, commonSteps, given, runStep, type Step } from '../steps.js';
import { japanese } from './recipe.js';
import { measuredTexts, sources } from './sources.js';
import { japaneseTokenizer, makeVocabulary } from './vocabulary.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { ...commonOptions, tasks: { type: 'string', default: 'massive_ja' } },
});

const vocabulary: Step = (work) => makeVocabulary(work, given(values.datasets, 'datasets'));

const corpus: Step = async (work) => {
  const datasets = given(values.datasets, 'datasets');
  const tokenizer = loadTokenizer(japaneseTokenizer(work));
  await writeCorpus(work, {
    datasets,
    sources,
    measured: measuredTexts(datasets),
    examples: (sentences, random) => neighbourLines(sentences, tokenizer, random),
  });
};

await runStep({ vocabulary, corpus, ...commonSteps(japanese, values) }, positionals, values);
