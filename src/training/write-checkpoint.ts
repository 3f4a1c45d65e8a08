import { join } from 'node:path';
import * as z from 'zod';
import { ModelFolderError, type ModelType } from '../contract/index.js';
import { bareName, type Encoder, pooledStates } from '../encoder/index.js';
import { calibrate, Evaluator, type TaskHead } from '../engine/index.js';
import { type CheckpointHead, familyOfType, softmax } from '../families/index.js';
import { type CompileOptions, cpuExecutor, onnxPieces, type Quantization } from '../graph/index.js';
import {
  CONFIG_FILE,
  type ModelFolderConfig,
  type NamedTensor,
  QUANTIZED_ONNX_FILE,
  WEIGHTS_FILE,
  writeModelFolder,
} from '../models/index.js';
import { TextReader } from '../text/index.js';
import { type Backbone, encoderHeadOf, LazyWeights, readBackbone, withHead } from './backbone.js';
import type { BackboneSource } from './backbone-files.js';
import type { CheckpointReading } from './checkpoint.js';
import { inferenceGraph } from './export-model.js';

interface WriteOptions extends CheckpointReading {
  /** `graph`: what inference reads. `all`: in float32, the weights for other libraries, too. */
  readonly files: 'graph' | 'all';
}

/** Fills an empty folder with a checkpoint of transformers as a model folder. @throws ModelFolderError */
export async function writeCheckpoint(
  source: BackboneSource,
  directory: string,
  { files, ...reading }: WriteOptions,
): Promise<void> {
  const backbone = await readBackbone(source);
  const { encoder, weights, tokenizer } = withHead(backbone);
  const quantization = reading.weights === 'int8' ? await quantizationOf(backbone) : undefined;
  const described = configOf(backbone, reading);
  const config = quantization
    ? { ...described, orchard: { ...described.orchard, graph: QUANTIZED_ONNX_FILE } as const }
    : described;
  const family = familyOfType(config.orchard.type);
  const graph = await inferenceGraph(family, encoder, config);
  const value = (name: string) => weights.get(bareName(encoder, name)) ?? new Float32Array();
  const parameters = graph.parameters.map(({ name }): [string, () => Float32Array] => [name, () => value(name)]);
  const stored = new Map(
    graph.parameters.map(({ name, shape }): [string, NamedTensor] => [
      name,
      {
        shape: shape.map(Number),
        get values() {
          return value(name);
        },
      },
    ]),
  );
  await writeModelFolder(directory, {
    config,
    tokenizer: tokenizer.json,
    tokenizerConfig: { ...tokenizer.config, model_max_length: config.orchard.max_tokens },
    ...(quantization
      ? { quantizedOnnx: onnxPieces(graph, new LazyWeights(parameters), quantization) }
      : { onnx: onnxPieces(graph, new LazyWeights(parameters)), ...(files === 'all' && { weights: stored }) }),
    files: new Map(),
  });
}

/** The largest that a model folder may have. */
const MAX_TOKENS = 8192;

function configOf(backbone: Backbone, { aggregation }: CheckpointReading): ModelFolderConfig {
  const { source, encoder, tokenizer, lowercase, maxTokens } = backbone;
  const head = backbone.head ?? refuse(backbone);
  const { labels, per } = head;
  const problem = problemOf(head, source.directory);
  const prefix = per === 'token' ? continuingPrefix(tokenizer.json) : undefined;
  return {
    ...encoder.config,
    architectures: [encoderHeadOf(encoder, head).className],
    id2label: Object.fromEntries(labels.map((label, id) => [String(id), label])),
    label2id: Object.fromEntries(labels.map((label, id) => [label, id])),
    ...(problem && { problem_type: problem }),
    orchard: {
      format: 1,
      ...kindOf(per, problem),
      size: 'base',
      backbone: source.name,
      labels: [...labels],
      pooling: per === 'text' ? 'first' : 'none',
      ...(per === 'token' && { aggregation: aggregation ?? (prefix === undefined ? 'simple' : 'first') }),
      ...(prefix !== undefined && { continuing_prefix: prefix }),
      lowercase,
      max_tokens: Math.min(MAX_TOKENS, maxTokens),
      files: [],
    },
  };
}

type Problem = ModelFolderConfig['problem_type'];

function kindOf(per: CheckpointHead['per'], problem: Problem): Pick<ModelFolderConfig['orchard'], 'family' | 'type'> {
  const ofTexts: ModelType =
    problem === 'multi_label_classification' ? 'multilabel-text-classification' : 'multiclass-text-classification';
  const type = per === 'token' ? 'named-entity-recognition' : ofTexts;
  return { family: familyOfType(type).name, type };
}

/** As transformers' pipeline: one label alone has a sigmoid. @throws ModelFolderError for a regression */
function problemOf({ per, labels, problem }: CheckpointHead, directory: string): Problem {
  if (per === 'token') return undefined;
  if (problem === 'regression') {
    const reason = 'problem_type is "regression": the model gives a number, and Orchard answers with labels';
    throw new ModelFolderError(
      join(directory, CONFIG_FILE),
      `${reason}; you can still train from it (\`base\` of train)`,
    );
  }
  if (labels.length === 1) return 'multi_label_classification';
  return problem ?? 'single_label_classification';
}

const prefixSchema = z.object({ model: z.object({ continuing_subword_prefix: z.string().min(1) }) });

/** What tokens begin with that continue a word, if the tokenizer marks them. */
function continuingPrefix(tokenizer: unknown): string | undefined {
  return prefixSchema.safeParse(tokenizer).data?.model.continuing_subword_prefix;
}

function refuse({ encoder, source }: Backbone): never {
  const { textHead, tokenHead } = encoder;
  const asked = `${textHead.className} or ${tokenHead.className}`;
  const reason = `its class is not ${asked}, so it has no labels to answer with`;
  const advice = 'train from it (`base` of train), or ask it for vectors (embed, search)';
  throw new ModelFolderError(join(source.directory, CONFIG_FILE), `${reason}; ${advice}`);
}

/** Largest change of a score, 0 to 1, with which answers count as the same. */
const MOST_CHANGE = 0.05;

/**
 * How the encoder's weights are stored in 8 bits, by the ranges that half of some texts give; the others judge the answers.
 * @throws ModelFolderError if the answers change
 */
async function quantizationOf(backbone: Backbone): Promise<Quantization> {
  const { encoder, source, tokenizer, maxTokens, head: given } = backbone;
  const { weights } = withHead(backbone);
  const head = given ?? refuse(backbone);
  const asked = askedHead(encoder, head);
  const named = asked
    .parameters(encoder)
    .map(({ name }): [string, () => Float32Array] => [
      name,
      () => weights.get(bareName(encoder, name)) ?? new Float32Array(),
    ]);
  const fixed = { weights: new LazyWeights(named) };
  const max_tokens = Math.min(MAX_SAMPLE_TOKENS, maxTokens);
  const read = new TextReader(tokenizer.tokenizer, { max_tokens }).read(sampleTexts);
  const windows = read.filter(({ row }) => row % 2 === 1).map(({ encoding }, row) => ({ encoding, row }));
  const ranged = read.filter(({ row }) => row % 2 === 0).map(({ encoding }) => encoding);
  const executor = cpuExecutor(1);
  const quantization = await calibrate(executor, asked, encoder, fixed, ranged);
  const scoresBy = async (options: CompileOptions): Promise<Float64Array[]> => {
    const evaluator = await Evaluator.create(executor, asked, encoder, options);
    const outputs = await evaluator.outputs(windows, {}).finally(() => evaluator.release());
    return outputs.flat().map(({ outputs: logits }) => scoresOf(head, logits));
  };
  const [exact, rounded] = [await scoresBy(fixed), await scoresBy({ ...fixed, quantization })];
  const change = Math.max(
    ...exact.flatMap((scores, at) => Array.from(scores, (score, id) => Math.abs(score - (rounded[at]?.[id] ?? 0)))),
  );
  if (change <= MOST_CHANGE) return quantization;
  const reason = `with 8-bit weights, a score of a test text changes by ${change.toFixed(3)}, more than ${MOST_CHANGE}`;
  throw new ModelFolderError(join(source.directory, WEIGHTS_FILE), `${reason}; leave out \`weights: 'int8'\``);
}

const MAX_SAMPLE_TOKENS = 128;

function askedHead(encoder: Encoder, given: CheckpointHead): TaskHead {
  const { per, labels } = given;
  const head = encoderHeadOf(encoder, given);
  const outputs = labels.length;
  const { prefix } = encoder;
  return {
    per,
    outputs: () => outputs,
    parameters: () => [...encoder.parameters(prefix), ...head.parameters(outputs)],
    logits(graph, _, inputs) {
      if (per === 'token') {
        const logits = head.logits(graph, encoder.states(graph, inputs, { prefix }), outputs);
        return graph.reshape(logits, ['tokens', 'batch', outputs]);
      }
      const { pooling } = encoder.textHead;
      return head.logits(
        graph,
        pooledStates(graph, encoder, inputs, { prefix, pooling, differentiable: true }),
        outputs,
      );
    },
  };
}

/** Probabilities of a text's labels, or of the labels of each of its tokens. */
function scoresOf({ problem, labels }: CheckpointHead, logits: Float32Array): Float64Array {
  const width = labels.length;
  if (width === 1 || problem === 'multi_label_classification') {
    return Float64Array.from(logits, (logit) => 1 / (1 + Math.exp(-logit)));
  }
  const scores = new Float64Array(logits.length);
  for (let at = 0; at < logits.length; at += width) scores.set(softmax(logits.subarray(at, at + width)), at);
  return scores;
}

/** Texts of many kinds and some languages, which a model's layers are run on. */
const sampleTexts = [
  'Ada Lovelace met Charles Babbage in London on 5 June 1833.',
  'The battery died after two days and nobody answered my emails. Very disappointed!',
  'Works perfectly, thank you so much :)',
  'Shares of the company fell 3.4% on Tuesday after it cut its forecast for the year.',
  'How do I reset my password? The link in the e-mail has expired.',
  'i cant believe this happened again lol',
  'The committee will publish its report on climate policy next week, according to the minister.',
  'Play some jazz in the living room at half past seven.',
  'It was neither good nor bad; the second half dragged, but the actors saved it.',
  'URGENT: you have WON a prize, click http://example.org/claim now',
  'Patients received 20 mg of the drug daily, and no serious adverse events were observed.',
  'What time does the train to Vienna leave?',
  'Die Lieferung kam zu spät, aber der Kundendienst war sehr freundlich.',
  'Angela Merkel besuchte am Montag Paris und sprach mit der Presse.',
  'Le film était magnifique, surtout la musique et les acteurs.',
  'La réunion entre les deux pays aura lieu à Genève en septembre.',
  'El equipo ganó el partido por dos goles a uno en Barcelona.',
  'No me gustó nada el servicio; tardaron una hora en traer la comida.',
  'Il prodotto è arrivato rotto e vorrei un rimborso.',
  'A reunião foi adiada para a próxima semana em Lisboa.',
  'Погода сегодня хорошая, и мы идём в парк.',
  'Президент прибыл в Москву в среду утром.',
  'この製品はとても使いやすいです。',
  '東京で会議が開かれました。',
  '这部电影非常好看，我推荐给大家。',
  '北京昨天下了一场大雪。',
  'Der Vertrag zwischen der Siemens AG und der Stadt München läuft bis 2030.',
  '@user this is the best day ever 🎉🎉 #happy',
  'Yes.',
  'The quick brown fox jumps over the lazy dog while seven wizards watch from the old stone bridge near the mill.',
];
