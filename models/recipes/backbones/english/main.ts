/**
 * `npx tsx models/recipes/backbones/english/main.ts <step> …`: README.md beside this file says what each step
 * does.
 */
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { onnxExecutor } from '../../../../src/graph/index.js';
import { loadTokenizer } from '../../../../src/tokenizer/index.js';
import { passagesOf, randomAims } from '../corpus/passages.js';
import { writeVocabulary } from '../corpus/vocabulary.js';
import { writeCorpus } from '../corpus/write-corpus.js';
import { computeTargets, fileHash, shardsOf, textHash } from '../distillation/compute-targets.js';
import { Teacher } from '../distillation/load-teacher.js';
import { tracksOf } from '../distillation/plan.js';
import { TargetFolder } from '../distillation/target-folder.js';
import { mannersOf } from '../distillation/teachers.js';
import { MAX_PASSAGE_TOKENS } from '../settings.js';
import { commonOptions, commonSteps, given, runStep, type Step } from '../steps.js';
import { planNamed } from './plans.js';
import { english } from './recipe.js';
import { measuredTexts, sources } from './sources.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...commonOptions,
    cased: { type: 'boolean', default: false },
    plan: { type: 'string', default: 'e5-bge' },
    teacher: { type: 'string' },
    texts: { type: 'string', default: '200000' },
    'shard-of': { type: 'string', default: '1/1' },
    int8: { type: 'boolean', default: false },
    tasks: { type: 'string', default: 'sst2,banking77_10,wnut17' },
  },
});
/** Texts over which the ranges of a teacher's 8-bit arithmetic are found. */
const CALIBRATION_TEXTS = 128;

const plan = planNamed(values.plan);
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

/** What the plan asks of one teacher, the one whose folder is given. */
const targets: Step = async (work) => {
  const directory = given(values.teacher, 'teacher');
  const name = basename(directory);
  const asked = plan.teachers.find((each) => each.name === name);
  if (asked === undefined) throw new Error(`the plan ${values.plan} has no teacher ${name}`);
  const { prefix, pooling, licence } = mannersOf(name);
  const tracks = tracksOf(asked);
  const json = recipe.tokenizer(work);
  const passages = work.readPassages();
  const calibration = values.int8
    ? passages.slice(0, CALIBRATION_TEXTS).map((text) => prefix + text)
    : undefined;
  const executor = onnxExecutor({ threads: Number(values.threads) });
  const teacher = await Teacher.load(directory, executor, tracks, calibration);
  const hashes = { corpus: fileHash(work.passages), tokenizer: textHash(JSON.stringify(json)) };
  const arithmetic = values.int8 ? ('int8' as const) : ('float32' as const);
  const record = { name, prefix, pooling, licence, arithmetic, width: teacher.width, ...hashes };
  const rules = {
    teacher: teacher.tokenizer,
    student: loadTokenizer(json),
    prefix,
    pooling,
    maxTokens: MAX_PASSAGE_TOKENS,
  };
  await computeTargets(new TargetFolder(work.targets(name)), record, passages, {
    teacher,
    rules,
    tracks,
    count: Number(values.texts),
    shards: shardsOf(values['shard-of']),
  });
  await teacher.release();
};

const { embeddings, learn: distil, ...others } = commonSteps(recipe, values);
await runStep({ vocabulary, corpus, embeddings, targets, distil, ...others }, positionals, values);
