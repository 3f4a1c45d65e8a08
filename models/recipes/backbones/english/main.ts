/**
 * `npx tsx models/recipes/backbones/english/main.ts <step> …`: README.md beside this file says what each step
 * does.
 */
import { parseArgs } from 'node:util';
import { onnxExecutor } from '../../../../src/graph/index.js';
import { englishTokenizer, loadTokenizer } from '../../../../src/tokenizer/index.js';
import { passagesOf, randomAims } from '../corpus/passages.js';
import { writeCorpus } from '../corpus/write-corpus.js';
import { computeTargets } from '../distillation/compute-targets.js';
import { Teacher } from '../distillation/load-teacher.js';
import { commonOptions, commonSteps, given, runStep, type Step } from '../steps.js';
import { english } from './recipe.js';
import { measuredTexts, sources } from './sources.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...commonOptions,
    teacher: { type: 'string' },
    texts: { type: 'string', default: '200000' },
    tasks: { type: 'string', default: 'banking77_10,sst2' },
  },
});
const tokenizer = loadTokenizer(englishTokenizer());

const corpus: Step = async (work) => {
  const datasets = given(values.datasets, 'datasets');
  writeCorpus(work, {
    datasets,
    sources,
    measured: measuredTexts(datasets),
    examples: (sentences, random) => passagesOf(sentences, tokenizer, randomAims(random)),
  });
};

const targets: Step = async (work) => {
  const executor = onnxExecutor({ threads: Number(values.threads) });
  const teacher = await Teacher.load(given(values.teacher, 'teacher'), executor);
  await computeTargets(work, teacher, tokenizer, Number(values.texts));
  await teacher.release();
};

const { embeddings, learn: distil, ...others } = commonSteps(english, values);
await runStep({ corpus, embeddings, targets, distil, ...others }, positionals, values.work);
