import { join } from 'node:path';
import * as z from 'zod';
import { ModelFolderError, type ModelType } from '../contract/index.js';
import { bareName } from '../encoder/index.js';
import { type CheckpointHead, familyOfType } from '../families/index.js';
import { onnxPieces } from '../graph/index.js';
import { CONFIG_FILE, type ModelFolderConfig, type NamedTensor, writeModelFolder } from '../models/index.js';
import { type Backbone, encoderHeadOf, LazyWeights, readBackbone, withHead } from './backbone.js';
import type { BackboneSource } from './backbone-files.js';
import type { CheckpointReading } from './checkpoint.js';
import { inferenceGraph } from './export-model.js';

interface WriteOptions extends CheckpointReading {
  /** `graph`: what inference reads. `all`: the weights for other libraries, too. */
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
  const config = configOf(backbone, reading);
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
    onnx: onnxPieces(graph, new LazyWeights(parameters)),
    ...(files === 'all' && { weights: stored }),
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
    throw new ModelFolderError(join(directory, CONFIG_FILE), `${reason}; as a backbone, it can be trained further`);
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
  const advice = 'train from it (train({ base })), or ask it for vectors (embed, search)';
  throw new ModelFolderError(join(source.directory, CONFIG_FILE), `${reason}; ${advice}`);
}
