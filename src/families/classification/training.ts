import { counted, type DatasetWarning } from '../../datasets/index.js';
import {
  type Dropout,
  type Encoder,
  type EncoderInputs,
  linearParameters,
  NO_DROPOUT,
  type ParameterSpec,
  type Pooling,
  pooledStates,
} from '../../encoder/index.js';
import type { LinearEnd, RowHead } from '../../engine/index.js';
import type { Graph, Tensor } from '../../graph/index.js';
import { encodeLinearExpert, type LinearExpert, linearExpertBytes, trainLinearExpert } from '../../lexical/index.js';
import { type Evidence, EXPERT_FILE, type ModelFolderConfig, type NamedTensor } from '../../models/index.js';
import { mapSteps, Random, type Steps, withPauses } from '../../system/index.js';
import type { TextOutputs } from '../../text/index.js';
import { crossEntropy } from '../cross-entropy.js';
import type {
  CheckLabelsOptions,
  CheckpointHead,
  ExpertOptions,
  FamilyTraining,
  FewRowsOptions,
  FewRowsTask,
  FinishedTask,
  Scores,
  TaskDescription,
  TrainedExpert,
  TrainedFewRows,
  TrainingTask,
  TransformersClass,
} from '../family.js';
import { foldsOf } from '../folds.js';
import { type RuleSet, ruledScores } from '../rules.js';
import { flatOutputs } from '../softmax.js';
import { editWords } from '../words.js';
import {
  type BlendPrior,
  blendLogits,
  fewRowsPrior,
  fitBlend,
  heldOutPrior,
  rowLosses,
  UNCALIBRATED,
} from './calibration.js';
import {
  type ClassificationDataset,
  joinedText,
  type LabelledText,
  linkOf,
  nameAsWords,
  positiveLabel,
} from './classification-dataset.js';
import { classificationEvaluation, classificationScores, mainMetricOf, type RuledRow } from './evaluation.js';
import { type Example, firstLabels, type JudgedRows, judgeByFolds, layerOfNames, trainOnFewRows } from './few-rows.js';
import { labelNoiseOf, labelNoiseWarnings } from './label-noise.js';
import {
  type AnsweredRow,
  fitEvidence,
  labelProbabilities,
  labelsOfProbabilities,
  predictedLabels,
  trustIn,
} from './probabilities.js';
import { balancedWeights, lossTargets, meanWeight, sigmoidLoss, targetOf, truthOf } from './targets.js';

/** One copy of every row with one or two edits, its label kept; edits that change nothing give no copy. */
export function augmentTexts(rows: readonly LabelledText[], seed: number): LabelledText[] {
  const random = Random.fromSeed(seed);
  const edited = (given: string) =>
    random
      .shuffle(edits)
      .slice(0, 1 + random.integer(2))
      .reduce((sofar, edit) => edit(sofar, random), given);
  return rows.flatMap(({ line: _, ...row }) => {
    const text = edited(row.text);
    const text2 = row.text2 === undefined ? undefined : edited(row.text2);
    return text === row.text && text2 === row.text2 ? [] : [{ ...row, text, ...(text2 !== undefined && { text2 }) }];
  });
}

const edits: readonly ((text: string, random: Random) => string)[] = [
  (text, random) => editWords(text, random),
  withSlips,
  withoutPunctuation,
  asPosted,
];

const SLIPS = 0.2;
/** Words that may get one: four letters or more, of a script that writes sounds. */
const SPELLED = /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]{4,}$/u;

export function withSlips(text: string, random: Random): string {
  return text
    .split(' ')
    .map((word) => (SPELLED.test(word) && random.uniform() < SLIPS ? slip(word, random) : word))
    .join(' ');
}

/** First and last letter stay, as readers rely on them (Pruthi et al. 2019). @param word of four letters or more */
export function slip(word: string, random: Random): string {
  const letters = [...word];
  const at = 1 + random.integer(letters.length - 2);
  const letter = letters[at] ?? '';
  switch (random.integer(4)) {
    case 0: {
      const left = Math.min(at, letters.length - 3);
      return letters.toSpliced(left, 2, ...letters.slice(left, left + 2).reverse()).join('');
    }
    case 1:
      return letters.toSpliced(at, 1).join('');
    case 2:
      return letters.toSpliced(at, 0, letter).join('');
    default:
      return letters.with(at, letters[random.integer(letters.length)] ?? letter).join('');
  }
}

/** Words of handles and hashtags that say nothing of what a text is about. */
const TAGS = ['today', 'fyi', 'thread', 'update', 'now', 'people', 'one', 'just', 'really', 'monday'];
/** Such as stand under any text, whatever its mood. */
const EMOJI = ['👀', '📌', '🤔', '📱', '👇', '🙋', '💬', '🔔'];
const ADDRESS_CHARACTERS = 'ABCDEFabcdefghijkmnpqrstuvwxyz0123456789';

/** A text among what stands around it in posts: a handle before it, hashtags, an address or an emoji behind it. */
function asPosted(text: string, random: Random): string {
  const tag = () => TAGS[random.integer(TAGS.length)] ?? '';
  const address = () =>
    Array.from({ length: 8 }, () => ADDRESS_CHARACTERS.charAt(random.integer(ADDRESS_CHARACTERS.length))).join('');
  const before = [() => `@${tag()}${random.integer(100)}`, () => `@${tag()}_${tag()}`];
  const behind = [
    () => `#${tag()}`,
    () => `https://t.co/${address()}`,
    () => EMOJI[random.integer(EMOJI.length)] ?? '',
  ];
  const some = (pieces: readonly (() => string)[]) =>
    pieces.filter(() => random.uniform() < 0.5).map((piece) => piece());
  return [...some(before), text, ...some(behind)].join(' ');
}

/** Without its punctuation; the text itself if nothing else is in it. */
export function withoutPunctuation(text: string): string {
  const rest = text
    .replaceAll(/\p{P}+/gu, ' ')
    .replaceAll(/\s+/gu, ' ')
    .trim();
  return rest === '' ? text : rest;
}

const CLASSIFIER = 'classifier';

interface ClassifierShape {
  readonly outputs: number;
  /** `first`: through the encoder's own head, as transformers has it. `mean`: a linear layer over the mean alone. */
  readonly pooling: Pooling;
}

function classifierParameters(encoder: Encoder, { outputs, pooling }: ClassifierShape): readonly ParameterSpec[] {
  const { width, initializerRange, prefix } = encoder;
  const head =
    pooling === 'first'
      ? encoder.textHead.parameters(outputs)
      : linearParameters(CLASSIFIER, width, outputs, initializerRange);
  return [...encoder.parameters(prefix), ...head];
}

/** What {@link classifierLogits} ends with where it pools by the mean. */
function classifierEnd(lossesPerRow: number): LinearEnd {
  return {
    weight: `${CLASSIFIER}.weight`,
    bias: `${CLASSIFIER}.bias`,
    lossesPerRow,
    states: (graph, encoder, inputs) => pooled(graph, encoder, inputs, 'mean'),
  };
}

/** Encoder, pooling and head. @returns logits [batch, outputs]. */
function classifierLogits(
  graph: Graph,
  encoder: Encoder,
  inputs: EncoderInputs,
  { outputs, pooling }: ClassifierShape,
  dropout?: Dropout,
): Tensor {
  const drop = dropout ?? NO_DROPOUT;
  const { textHead } = encoder;
  const read = pooled(graph, encoder, inputs, pooling === 'first' ? textHead.pooling : 'mean', dropout);
  if (pooling === 'first') return textHead.logits(graph, read, outputs, drop);
  const weight = graph.parameter(`${CLASSIFIER}.weight`, [outputs, encoder.width]);
  const bias = graph.parameter(`${CLASSIFIER}.bias`, [outputs]);
  return graph.gemm(drop(read, encoder.headDropout), weight, { transposeB: true }, bias);
}

function pooled(graph: Graph, encoder: Encoder, inputs: EncoderInputs, pooling: Pooling, dropout?: Dropout): Tensor {
  return pooledStates(graph, encoder, inputs, {
    prefix: encoder.prefix,
    dropout: dropout ?? NO_DROPOUT,
    pooling,
    differentiable: dropout !== undefined,
  });
}

/** transformers has no class for mean pooling: its own ones would read the first token by a layer that is random. */
const CLASS = 'MeanPoolingClassifier';
const MODULE = 'modeling_orchard';
const FILE = `${MODULE}.py`;

const usesClass = ({ orchard }: ModelFolderConfig): boolean => orchard.pooling === 'mean';

function transformersClass(config: ModelFolderConfig): TransformersClass | undefined {
  if (!usesClass(config)) return undefined;
  return {
    architectures: [CLASS],
    auto_map: { AutoModelForSequenceClassification: `${MODULE}.${CLASS}` },
  };
}

function transformersFiles(encoder: Encoder, config: ModelFolderConfig): ReadonlyMap<string, Uint8Array> {
  return new Map(usesClass(config) ? [[FILE, Buffer.from(pythonClass(encoder))]] : []);
}

/** A misfit named like the layer that transformers' own class would make up, so that it stops instead of guessing. */
function transformersGuards({ textHead }: Encoder, config: ModelFolderConfig): ReadonlyMap<string, NamedTensor> {
  const [inner] = textHead.inner;
  const guard = { shape: [1], values: new Float32Array(1) };
  return new Map(usesClass(config) && inner !== undefined ? [[inner.name, guard]] : []);
}

function pythonClass({ prefix, modelType }: Encoder): string {
  const base = prefix.replace(/\.$/u, '');
  return `"""A text classifier that Orchard trained, for transformers: the mean of the encoder's token states, then one linear layer.

    from transformers import pipeline
    classify = pipeline("text-classification", FOLDER, trust_remote_code=True)

trust_remote_code lets transformers run this file, so read it first. The logits are those of the model's encoder; Orchard's
own answers also count its lexical expert (config.json: orchard.blend).
"""

from torch import nn
from transformers import CONFIG_MAPPING, AutoModel, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

class ${CLASS}(PreTrainedModel):
    config_class = CONFIG_MAPPING["${modelType}"]
    base_model_prefix = "${base}"

    def __init__(self, config):
        super().__init__(config)
        encoder = AutoModel.from_config(config)
        if hasattr(encoder, "pooler"):
            encoder.pooler = None
        self.${base} = encoder
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, labels=None, **inputs):
        states = self.${base}(input_ids, attention_mask=attention_mask, **inputs).last_hidden_state
        mask = states.new_ones(states.shape[:2]) if attention_mask is None else attention_mask.to(states.dtype)
        means = (states * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        logits = self.classifier(means)
        return SequenceClassifierOutput(loss=self._loss(logits, labels), logits=logits)

    def _loss(self, logits, labels):
        if labels is None:
            return None
        if self.config.problem_type == "multi_label_classification":
            targets = labels.to(logits.dtype).reshape(logits.shape)
            return nn.functional.binary_cross_entropy_with_logits(logits, targets)
        return nn.functional.cross_entropy(logits, labels.reshape(-1))
`;
}

type DevRows = Pick<ClassificationDataset, 'kind' | 'labels' | 'positive' | 'dev'>;

/** A dataset, and the rules that its model will answer with. */
interface RuledDataset extends ClassificationDataset {
  readonly rules?: RuleSet | undefined;
}

/** A binary model has one logit, for its second label. */
function outputsOf({ kind, labels }: Pick<ClassificationDataset, 'kind' | 'labels'>): number {
  return kind === 'binary' ? 1 : labels.length;
}

/** @param logits [dev rows, outputs] @param ruled what the model answers to the dev rows that rules match */
function* scoresOf(
  rows: DevRows,
  logits: Float32Array,
  ruled: ReadonlyMap<number, RuledRow> = new Map(),
): Steps<Scores> {
  const { kind, labels, dev } = rows;
  const outputs = outputsOf({ kind, labels });
  const reading = { link: linkOf(kind), labels: labels.length };
  const labelsOf = (_: unknown, row: number) =>
    ruled.get(row)?.predicted ?? predictedLabels(logits.subarray(row * outputs, (row + 1) * outputs), reading);
  const predicted = yield* mapSteps(dev, labelsOf);
  const actual = dev.map(({ labelIds }) => labelIds);
  const scores = classificationScores(predicted, actual, f1LabelsOf(rows, [...predicted, ...actual]));
  return { ...scores, value: scores[mainMetricOf(kind)] };
}

/** As in scikit-learn: a binary model's second label, all labels of a multilabel one, else those that occur. */
function f1LabelsOf(rows: DevRows, found: readonly (readonly number[])[]): readonly number[] {
  const positive = positiveLabel(rows);
  if (positive !== undefined) return [rows.labels.indexOf(positive)];
  return rows.kind === 'multilabel' ? [...rows.labels.keys()] : [...new Set(found.flat())];
}

export function classificationTask(dataset: RuledDataset, pooling: Pooling): TrainingTask<RowHead> {
  const { kind, train, dev } = dataset;
  const outputs = outputsOf(dataset);
  return {
    warnings: dataset.warnings,
    warningsOfEpochs: unusedDescriptions(dataset),
    train: train.map(joinedText),
    dev: dev.map(joinedText),
    mainMetric: mainMetricOf(kind),
    positive: positiveLabel(dataset),
    head: classificationHead(dataset, { outputs, pooling }),
    augmented: ({ seed }) =>
      classificationTask({ ...dataset, train: [...train, ...augmentTexts(train, seed)] }, pooling),
    evaluate: (texts, signal) => withPauses(scoresOf(dataset, flatOutputs(texts)), signal),
    trainExpert: (options) => trainExpert(dataset, outputs, options),
    expertBytes: () => expertBytes(dataset, outputs),
    describe: () => describe(dataset, pooling),
    ...(pooling === 'mean' && { fewRows: fewRowsTask(dataset, pooling) }),
  };
}

/** What labels mean is among the texts of few rows only. */
function unusedDescriptions({ descriptions = {} }: ClassificationDataset): readonly DatasetWarning[] {
  const count = Object.keys(descriptions).length;
  if (count === 0) return [];
  const message = `the model did not learn from the ${counted(count, 'description')} in \`labels\`: it was trained in epochs, and only models that are trained on few rows learn from descriptions`;
  return [{ kind: 'unused_description', count, message, examples: [] }];
}

/** Each n-gram of a pair is read with its side, too; a row with shares is two. */
function expertBytes({ arePairs = false, train }: ClassificationDataset, outputs: number): number {
  const rows = train.flatMap(({ shares, ...row }) => {
    const text = joinedText(row);
    return new Array<{ readonly text: string }>((arePairs ? 2 : 1) * (shares ? 2 : 1)).fill({ text });
  });
  return linearExpertBytes(rows, outputs);
}

function fewRowsTask(dataset: RuledDataset, pooling: Pooling): FewRowsTask {
  const { labels, isDevDrawn = false, descriptions = {}, arePairs = false } = dataset;
  const train = isDevDrawn ? [...dataset.train, ...dataset.dev] : dataset.train;
  const dev = isDevDrawn ? [] : dataset.dev;
  const names = labels.flatMap((label, id): LabelledText[] => {
    // What a label says isn't about two texts.
    const text = arePairs ? undefined : (descriptions[label] ?? nameAsWords(label));
    return text === undefined ? [] : [{ text, labelIds: [id] }];
  });
  // Doubtful is what is given as certain.
  const isCertain = [...train, ...dev].every(({ shares }) => shares === undefined);
  const texts = [...train, ...dev, ...names];
  const trainAt = [...train.keys()];
  const nameAt = [...texts.keys()].slice(train.length + dev.length);
  const outputs = outputsOf(dataset);
  const { files = { train: '', dev: '' } } = dataset;
  const pick = (at: readonly number[], states: readonly (Float32Array | undefined)[]) =>
    at.flatMap((row): Example[] => {
      const [text, state] = [texts[row], states[row]];
      return text && state ? [{ ...text, state }] : [];
    });
  return {
    ...(arePairs && { readsPairs: true }),
    texts: texts.map(joinedText),
    trainRows: train.length,
    // More epochs gained nothing on five datasets of 16 to 160 rows.
    encoderTraining: { epochs: 4, isKept: 'if better' },
    statesOf: (_, [window]) => window?.outputs ?? new Float32Array(),
    splits(seed, folds) {
      if (dev.length === 0) return foldsOf(firstLabels(train), seed, folds);
      return [{ train: trainAt, judged: [...dev.keys()].map((row) => train.length + row) }];
    },
    examples: (at) => [...at, ...nameAt],
    ...(isCertain && {
      async checkLabels(states: readonly (Float32Array | undefined)[], { repeats, ...options }: CheckLabelsOptions) {
        const data = { train: pick(trainAt, states), names: pick(nameAt, states) };
        const judged = await judgeByFolds(dataset, data, options, { repeats });
        const noise = await withPauses(labelNoiseOf(dataset, judged), options.signal);
        return { noise, warnings: labelNoiseWarnings(noise, files.train) };
      },
    }),
    head: (at) =>
      classificationHead({ ...dataset, train: at.flatMap((row) => texts[row] ?? []) }, { outputs, pooling }),
    async learn(states, judging, options) {
      if (train.length === 0) return learnedFromNames(dataset, pick(nameAt, states), options);
      const splits = judging.map((split) => ({
        train: pick(split.train, split.states),
        names: pick(nameAt, split.states),
        judged: pick(split.judged, split.states),
      }));
      const data = { train: pick(trainAt, states), names: pick(nameAt, states), splits };
      const { layer, splitLayers, expert, judged, choices } = await trainOnFewRows(dataset, data, options);
      const work = function* () {
        const finished = yield* finishedTask(dataset, expert, judged, fewRowsPrior);
        const logits = blendLogits(finished.blend.blend.weights, judged.encoder, judged.expert);
        const noise = isCertain ? yield* labelNoiseOf(dataset, judged) : undefined;
        const truth = truthOf({ kind: dataset.kind, outputs }, judged.rows);
        return {
          finished,
          warnings: noise ? labelNoiseWarnings(noise, dev.length > 0 ? files.dev : files.train) : [],
          losses: yield* rowLosses(linkOf(dataset.kind), { outputs, ...truth }, logits),
        };
      };
      return {
        ...(await withPauses(work(), options.signal)),
        layer,
        splitLayers,
        judged: { rows: judged.rows.length, ...(dev.length === 0 && { folds: splits.length }) },
        choices,
      };
    },
  };
}

/**
 * How cosines with label names become scores, and what share of the way from chance to certainty 95 % of the right answers
 * reach: fitted to four datasets of reviews, financial tweets, offensive tweets and comments with ten emotions, 4,683 rows
 * in all (docs/few-rows.md).
 */
const NAMES = { temperature: 8.6, right: 0.063, rows: 4683 } as const;

/** Nothing is measured, as there are no rows. */
async function learnedFromNames(
  dataset: ClassificationDataset,
  names: readonly Example[],
  { lowercase, seed, signal }: FewRowsOptions,
): Promise<TrainedFewRows> {
  const outputs = outputsOf(dataset);
  const layer = layerOfNames(names, outputs, NAMES.temperature);
  const targets = names.map((name) => targetOf(dataset.kind, name));
  const expert = await trainLinearExpert(names.map(joinedText), targets, { outputs, lowercase, seed, signal });
  const part = { value: 0, weights: { encoder: 1, expert: 0, bias: [] } };
  const chance = dataset.kind === 'multilabel' ? 0.5 : 1 / dataset.labels.length;
  const evidence = { rows: NAMES.rows, coverage: 0, none_below: chance + NAMES.right * (1 - chance) };
  return {
    finished: {
      blend: { encoder: part, expert: part, blend: part },
      evidence,
      judgedTexts: [],
      files: new Map([[EXPERT_FILE, encodeLinearExpert(expert)]]),
    },
    layer,
    splitLayers: [],
    losses: new Float64Array(),
    warnings: [],
    judged: { rows: 0 },
    choices: { inverseRegularization: 0, labelNames: 1 },
  };
}

/** Trains the lexical expert on the training rows; `finish` blends it with the encoder on the dev rows. */
async function trainExpert(
  dataset: RuledDataset,
  outputs: number,
  { lowercase, balanced, seed, signal }: ExpertOptions,
): Promise<TrainedExpert> {
  const { kind, train, dev, arePairs: pairs = false } = dataset;
  const targets = train.map((row) => targetOf(kind, row));
  const weighing = balanced && { classWeights: balancedWeights(targets, outputs) };
  const options = { outputs, lowercase, seed, signal, pairs, ...weighing };
  const expert = await trainLinearExpert(train.map(joinedText), targets, options);
  const finish = function* (texts: readonly TextOutputs[]): Steps<FinishedTask> {
    const margins = new Float32Array(dev.length * outputs);
    const coverages = new Float64Array(dev.length);
    for (const [row, each] of dev.entries()) {
      yield;
      const reading = expert.read(joinedText(each));
      margins.set(reading.margins, row * outputs);
      coverages[row] = reading.coverage;
    }
    const judged = { rows: dev, encoder: flatOutputs(texts), expert: margins, coverages };
    return yield* finishedTask(dataset, expert, judged, heldOutPrior);
  };
  return { finish: (texts, signal) => withPauses(finish(texts), signal) };
}

/** Blends encoder and expert as suits the judged rows best, and measures the blend on them. */
function* finishedTask(
  { kind, labels, positive, rules }: RuledDataset,
  lexical: LinearExpert,
  { rows: judged, encoder, expert, coverages }: JudgedRows,
  prior: BlendPrior,
): Steps<FinishedTask> {
  const outputs = outputsOf({ kind, labels });
  const reading = { link: linkOf(kind), labels: labels.length };
  const dataset = { kind, labels, positive, dev: judged };
  const rows = { link: reading.link, outputs, ...truthOf({ kind, outputs }, judged) };
  const score = (logits: Float32Array) => scoresOf(dataset, logits);
  const fitted = yield* fitBlend({ ...rows, encoder, expert, multilabel: kind === 'multilabel', score, prior });
  const logits = blendLogits(fitted.blend.weights, encoder, expert);
  const evidence = yield* evidenceOf(dataset, logits, coverages);
  const trust = coverages.map((coverage) => trustIn(evidence, coverage));
  const ruled = rules && (yield* ruledRows(dataset, rules, { logits, trust }));
  const evaluation = yield* classificationEvaluation(
    dataset,
    { ...rows, trust, logits, uncalibrated: blendLogits(UNCALIBRATED, encoder, expert) },
    ruled,
  );
  const blend = ruled
    ? { ...fitted, blend: { ...fitted.blend, ...(yield* scoresOf(dataset, logits, ruled)), value: fitted.blend.value } }
    : fitted;
  const judgedTexts = yield* mapSteps(judged, (row, at) => {
    const answer = predictedLabels(logits.subarray(at * outputs, (at + 1) * outputs), reading);
    return { text: joinedText(row), labels: answer.map((id) => labels[id] ?? '') };
  });
  return { blend, evaluation, evidence, judgedTexts, files: new Map([[EXPERT_FILE, encodeLinearExpert(lexical)]]) };
}

/** What the model answers to the dev rows that rules match, by their positions. */
function* ruledRows(
  { kind, labels, dev }: DevRows,
  rules: RuleSet,
  { logits, trust }: { readonly logits: Float32Array; readonly trust: Float64Array },
): Steps<ReadonlyMap<number, RuledRow>> {
  const outputs = outputsOf({ kind, labels });
  const isMultilabel = kind === 'multilabel';
  const ruled = new Map<number, RuledRow>();
  for (const [row, { text }] of dev.entries()) {
    yield;
    const matches = rules.matches(text);
    if (matches.length === 0) continue;
    const own = logits.subarray(row * outputs, (row + 1) * outputs);
    const plain = labelProbabilities(own, { link: linkOf(kind), labels: labels.length, trust: trust[row] });
    const { scores } = ruledScores(rules, matches, labels, [...plain], isMultilabel);
    const probabilities = Float64Array.from(scores);
    ruled.set(row, { probabilities, predicted: labelsOfProbabilities(probabilities, isMultilabel) });
  }
  return ruled;
}

/** What the dev rows say of how far the scores can be trusted. @param coverages of the dev rows. */
function* evidenceOf({ kind, labels, dev }: DevRows, logits: Float32Array, coverages: Float64Array): Steps<Evidence> {
  const outputs = logits.length / Math.max(1, dev.length);
  const reading = { link: linkOf(kind), labels: labels.length };
  const answered = yield* mapSteps(dev, ({ labelIds }, row): AnsweredRow => {
    const probabilities = labelProbabilities(logits.subarray(row * outputs, (row + 1) * outputs), reading);
    const score = Math.max(...probabilities);
    const isRight = labelIds.includes(probabilities.indexOf(score));
    return { coverage: coverages[row] ?? 0, rightly: isRight ? score : undefined };
  });
  return fitEvidence(answered, labels.length, kind === 'multilabel');
}

const NO_LABELS = { active: [] };

function classificationHead(
  { kind, train }: Pick<ClassificationDataset, 'kind' | 'train'>,
  shape: ClassifierShape,
): RowHead {
  const link = linkOf(kind);
  const rows = train.map((row) => targetOf(kind, row));
  const balance = balancedWeights(rows, shape.outputs);
  const plainMean = meanWeight(rows, { link });
  const balancedMean = meanWeight(rows, { link, classWeights: balance });
  return {
    kind: 'rows',
    per: 'text',
    outputs: () => shape.outputs,
    parameters: (encoder) => classifierParameters(encoder, shape),
    logits: (graph, encoder, inputs, dropout) => classifierLogits(graph, encoder, inputs, shape, dropout),
    loss: link === 'softmax' ? crossEntropy : sigmoidLoss,
    linearEnd: () => (shape.pooling === 'mean' ? classifierEnd(link === 'softmax' ? 1 : shape.outputs) : undefined),
    targets(batch, { labelSmoothing, balanced }) {
      const targets = batch.map(({ row }) => rows[row] ?? NO_LABELS);
      const rules = balanced ? { classWeights: balance, meanWeight: balancedMean } : { meanWeight: plainMean };
      return lossTargets(targets, shape.outputs, { link, labelSmoothing, ...rules });
    },
  };
}

/** To other libraries, a binary model is a multi-label one with its second label only, as its logit takes a sigmoid. */
function describe({ kind, labels, arePairs }: ClassificationDataset, pooling: Pooling): TaskDescription {
  const named = kind === 'binary' ? labels.slice(1) : labels;
  return {
    id2label: Object.fromEntries(named.map((label, id) => [String(id), label])),
    label2id: Object.fromEntries(named.map((label, id) => [label, id])),
    problem_type: kind === 'multiclass' ? 'single_label_classification' : 'multi_label_classification',
    labels: [...labels],
    pooling,
    ...(arePairs && { parts: 'pair' }),
  };
}

/**
 * The rows for the head of a checkpoint, whose outputs are in the order of its labels. One that has a softmax over two labels
 * keeps both outputs.
 * @returns undefined if its labels are others, or mean something else.
 */
function continuedDataset(dataset: ClassificationDataset, head: CheckpointHead): ClassificationDataset | undefined {
  const { kind, labels, train, dev } = dataset;
  const isMultilabel = head.problem === 'multi_label_classification' || head.labels.length === 1;
  if (head.per !== 'text' || head.problem === 'regression' || isMultilabel !== (kind === 'multilabel'))
    return undefined;
  const places = labels.map((label) => head.labels.indexOf(label));
  if (labels.length !== head.labels.length || places.includes(-1)) return undefined;
  const moved = (row: LabelledText): LabelledText => ({
    ...row,
    labelIds: row.labelIds.map((id) => places[id] ?? 0),
    ...(row.shares && { shares: head.labels.map((label) => row.shares?.[labels.indexOf(label)] ?? 0) }),
  });
  return {
    ...dataset,
    kind: isMultilabel ? 'multilabel' : 'multiclass',
    labels: head.labels,
    positive: positiveLabel(dataset),
    train: train.map(moved),
    dev: dev.map(moved),
  };
}

export const papayaTraining: FamilyTraining<ClassificationDataset> = {
  // For the measurement, see docs/decisions.md.
  task(given, head, { positive, rules } = {}) {
    const dataset = { ...given, positive };
    const continued = head && continuedDataset(dataset, head);
    if (continued === undefined) return classificationTask({ ...dataset, rules }, 'mean');
    return { ...classificationTask({ ...continued, rules }, 'first'), continuesHead: true };
  },
  exportedOutputs: (graph, encoder, inputs, { id2label, orchard }) => ({
    name: 'logits',
    tensor: classifierLogits(graph, encoder, inputs, {
      outputs: Object.keys(id2label).length,
      pooling: orchard.pooling === 'first' ? 'first' : 'mean',
    }),
  }),
  transformersClass,
  companions: transformersFiles,
  companionTensors: transformersGuards,
};
