import type * as z from 'zod';
import { ModelFolderError } from '../contract/index.js';
import type { Graph, Tensor } from '../graph/index.js';
import type { Encoder, EncoderHead, EncoderTraits, Pooling } from './encoder.js';
import { EncoderBuilder, type EncoderInputs, NO_DROPOUT } from './encoder-builder.js';
import { linearParameters, type ParameterSpec } from './parameter.js';

/** An encoder as transformers computes it. A new one is a file in architectures/ and a line in read-encoder.ts. */
export interface ArchitectureDefinition<Config extends { readonly model_type: string }> {
  readonly name: string;
  /** transformers' class names by model_type: `{ 'xlm-roberta': 'XLMRoberta' }`. */
  readonly classes: Readonly<Record<string, string>>;
  /** transformers' base_model_prefix and a dot. */
  readonly prefix: string;
  /** Names and defaults are those of transformers. A field that asks for what isn't computed here must not fit. */
  readonly schema: z.ZodType<Config>;
  /** Why such fields can't go together, naming them. */
  reasonAgainst?(config: Config): string | undefined;
  traits(config: Config): EncoderTraits;
  /** Without the prefix, in the order in which they are initialized. */
  parameters(config: Config): readonly ParameterSpec[];
  /** Uses `builder.dropout`. @returns [tokens*batch, width], token by token; for `first`, [batch, width]. */
  states(builder: EncoderBuilder, config: Config, inputs: EncoderInputs, states: 'all' | 'first'): Tensor;
  readonly textHead: HeadDefinition<Config> & {
    /** Which state it reads. Default: that of the first token. */
    pooling?(config: Config): Pooling;
  };
  readonly tokenHead: HeadDefinition<Config>;
}

export interface HeadDefinition<Config> {
  /** The last linear layer: `classifier`. */
  readonly classifier: string;
  /** The layers before that. Default: none. */
  inner?(config: Config): readonly ParameterSpec[];
  /** Dropout included. Shapes: x [rows, width] → [rows, width]. */
  transform(builder: EncoderBuilder, config: Config, x: Tensor): Tensor;
}

export interface Architecture {
  readonly modelTypes: readonly string[];
  /** @param file named in errors. @throws ModelFolderError that names the fields with which it can't be run here. */
  encoder(json: unknown, file: string): Encoder;
}

export function architecture<Config extends { readonly model_type: string }>(
  definition: ArchitectureDefinition<Config>,
): Architecture {
  return {
    modelTypes: Object.keys(definition.classes),
    encoder: (json, file) => encoderOf(definition, parse(definition, json, file)),
  };
}

function parse<Config extends { readonly model_type: string }>(
  { name, schema, reasonAgainst }: ArchitectureDefinition<Config>,
  json: unknown,
  file: string,
): Config {
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    const reasons = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    const reason = `its ${name} encoder can't be run here (${reasons.join('; ')})`;
    throw new ModelFolderError(file, reason);
  }
  const reason = reasonAgainst?.(parsed.data);
  if (reason !== undefined) throw new ModelFolderError(file, reason);
  return parsed.data;
}

function encoderOf<Config extends { readonly model_type: string }>(
  definition: ArchitectureDefinition<Config>,
  config: Config,
): Encoder {
  const { classes, prefix, textHead, tokenHead } = definition;
  const traits = definition.traits(config);
  const parameters = definition.parameters(config);
  const stem = classes[config.model_type] ?? '';
  const head = (suffix: string, own: HeadDefinition<Config>): EncoderHead =>
    headOf(`${stem}For${suffix}`, own, config, traits);
  return {
    ...traits,
    architecture: definition.name,
    modelType: config.model_type,
    config: { ...config },
    prefix,
    className: `${stem}Model`,
    textHead: { ...head('SequenceClassification', textHead), pooling: textHead.pooling?.(config) ?? 'first' },
    tokenHead: head('TokenClassification', tokenHead),
    parameters: (before) => parameters.map((each) => ({ ...each, name: before + each.name })),
    states(graph, inputs, { prefix: before, dropout = NO_DROPOUT, states = 'all' }) {
      const { form, adapt } = inputs;
      const options = { prefix: before, form, dropout, ...(adapt && { adapt }) };
      const builder = new EncoderBuilder(graph, parameters, options);
      return definition.states(builder, config, inputs, states);
    },
  };
}

function headOf<Config>(
  className: string,
  { classifier, inner, transform }: HeadDefinition<Config>,
  config: Config,
  { width, initializerRange }: EncoderTraits,
): EncoderHead {
  const innerParameters = inner?.(config) ?? [];
  const parameters = (outputs: number) => [
    ...innerParameters,
    ...linearParameters(classifier, width, outputs, initializerRange),
  ];
  return {
    className,
    inner: innerParameters,
    parameters,
    logits(graph: Graph, x: Tensor, outputs: number, dropout = NO_DROPOUT): Tensor {
      const options = { prefix: '', form: 'differentiable' as const, dropout };
      const builder = new EncoderBuilder(graph, parameters(outputs), options);
      return builder.linear(transform(builder, config, x), classifier);
    },
  };
}
