import { parseArgs } from 'node:util';
import { loadTokenizer } from '../../../../src/text/index.js';
import { passagesOf, randomAims } from '../corpus/passages.js';
import { writeCorpus } from '../corpus/write-corpus.js';
import { askTeacher, targetOptions } from '../distillation/ask-teacher.js';
import { planNamed } from '../distillation/plan.js';
import { commonOptions, commonSteps, given, runStep, type Step } from '../steps.js';
import { plans } from './plans.js';
import { japanese } from './recipe.js';
import { measuredTexts, sources } from './sources.js';
import { japaneseTokenizer, makeVocabulary } from './vocabulary.js';

/**
 * `npx tsx models/recipes/backbones/japanese/main.ts <step> …`: README.md beside this file says what each
 * step does.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...commonOptions,
    plan: { type: 'string', default: 'mbert-use' },
    ...targetOptions,
    tasks: { type: 'string', default: 'massive_ja' },
  },
});
const plan = planNamed(values.plan, plans);
const recipe = japanese(plan);

const vocabulary: Step = (work) => makeVocabulary(work, given(values.datasets, 'datasets'));

const corpus: Step = async (work) => {
  const datasets = given(values.datasets, 'datasets');
  const tokenizer = loadTokenizer(japaneseTokenizer(work));
  await writeCorpus(work, {
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
