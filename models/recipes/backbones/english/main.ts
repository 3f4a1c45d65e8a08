import { parseArgs } from 'node:util';
import { loadTokenizer } from '../../../../src/text/index.js';
import { passagesOf, randomAims } from '../corpus/passages.js';
import { writeVocabulary } from '../corpus/vocabulary.js';
import { writeCorpus } from '../corpus/write-corpus.js';
import { askTeacher, targetOptions } from '../distillation/ask-teacher.js';
import { planNamed } from '../distillation/plan.js';
import { commonOptions, commonSteps, given, runStep, type Step } from '../steps.js';
import { plans } from './plans.js';
import { english } from './recipe.js';
import { measuredTexts, sources } from './sources.js';

/**
 * `npx tsx models/recipes/backbones/english/main.ts <step> …`: README.md beside this file says what each step
 * does.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...commonOptions,
    cased: { type: 'boolean', default: false },
    plan: { type: 'string', default: 'e5-bge' },
    ...targetOptions,
    tasks: { type: 'string', default: 'sst2,banking77_10' },
  },
});
const plan = planNamed(values.plan, plans);
const recipe = english({ plan, planName: values.plan, cased: values.cased });

const vocabulary: Step = (work) => {
  const datasets = given(values.datasets, 'datasets');
  const measured = measuredTexts(datasets);
  return writeVocabulary(work, {
    datasets,
    sources,
    measured,
    language: 'english',
    lowercase: !values.cased,
  });
};

const corpus: Step = (work) => {
  const datasets = given(values.datasets, 'datasets');
  const tokenizer = loadTokenizer(recipe.tokenizer(work));
  return writeCorpus(work, {
    datasets,
    sources,
    measured: measuredTexts(datasets),
    examples: (sentences, random) => passagesOf(sentences, tokenizer, randomAims(random)),
  });
};

const targets: Step = (work) =>
  askTeacher(recipe, work, {
    ...values,
    teacher: given(values.teacher, 'teacher'),
    threads: Number(values.threads),
    plan,
    passages: work.readPassages(),
  });

const { embeddings, learn: distil, ...others } = commonSteps(recipe, values);
await runStep({ vocabulary, corpus, embeddings, targets, distil, ...others }, positionals, values);
