import { TrainingError } from '../contract/index.js';
import { bareName, type Encoder, type ParameterSpec } from '../encoder/index.js';
import {
  type Adapters,
  adaptedWeights,
  adapterParameters,
  type FrozenWeights,
  mergedWeight,
  type TrainingHead,
  type Weights,
  withAdapters,
} from '../engine/index.js';
import { type Backbone, LazyWeights } from './backbone.js';
import { adaptersOf, type Tuning } from './hyperparameters.js';

/** How a run is trained whose backbone is frozen in part or as a whole. */
export interface FrozenBackbone {
  /** Of the parameters that it has in the model, by name. */
  readonly frozen: FrozenWeights;
  /** Of the adapters, if there are any. */
  readonly adapters?: Adapters;
  /** Most tokens of one run; more than that are split. Default: the engine's. */
  readonly tokensPerRun?: number;
}

/**
 * With adapters, what a step computes takes most of the memory, and to sum the gradients of several runs costs next to
 * nothing: docs/adapters.md has what this saves.
 */
const ADAPTER_TOKENS_PER_RUN = 512;

/**
 * @returns undefined if everything learns.
 * @throws TrainingError if there is no backbone, or none of what is asked for in this one; it says what to do.
 */
export function frozenBackbone(
  id: string,
  tuning: Tuning,
  head: TrainingHead,
  backbone: Pick<Backbone, 'encoder' | 'weights' | 'stored' | 'source'> | undefined,
): FrozenBackbone | undefined {
  const { freeze } = tuning;
  const adapters = adaptersOf(tuning);
  if (adapters === undefined && freeze === undefined) return undefined;
  if (backbone === undefined) throw new TrainingError(`training job ${id}: ${NEEDS_BACKBONE}`);
  const specs = head.parameters(backbone.encoder);
  const reason = reasonAgainst(tuning, backbone.encoder, specs);
  if (reason !== undefined) throw new TrainingError(`training job ${id}: ${reason}`);
  const isFrozen = ({ part }: ParameterSpec): boolean => {
    if (part === undefined) return false;
    return adapters !== undefined || part === 'embeddings' || (typeof freeze === 'number' && part < freeze);
  };
  const frozen = frozenWeights(specs.filter(isFrozen), backbone);
  return { frozen, ...(adapters && { adapters, tokensPerRun: ADAPTER_TOKENS_PER_RUN }) };
}

const NEEDS_BACKBONE =
  '`tuning.adapters` and `tuning.freeze` need a backbone, but this job starts from random weights; name a backbone, set `pretrained` to true, or leave both out';

/** Why this encoder can't be tuned so; undefined if it can. */
function reasonAgainst(tuning: Tuning, { layers }: Encoder, specs: readonly ParameterSpec[]): string | undefined {
  const { freeze } = tuning;
  if (typeof freeze === 'number' && freeze > layers) {
    return `\`tuning.freeze\` is ${freeze}, but the backbone has ${layers} layers; freeze at most that many`;
  }
  const adapters = adaptersOf(tuning);
  if (adapters === undefined) return undefined;
  const missing = adapters.targets.filter(
    (target) => adaptedWeights(specs, { targets: [target], lowest: 0 }).length === 0,
  );
  if (missing.length > 0) {
    return `\`tuning.adapters.targets\` names ${missing.join(', ')}, but the backbone has no such linear layer; leave it out`;
  }
  if (adapterParameters(specs, adapters).length > 0) return undefined;
  return `\`tuning.freeze\` is ${freeze}, which leaves no layer for the adapters; freeze fewer layers, or leave \`tuning.adapters\` out`;
}

/** Those of a backbone, to be compiled into graphs. @param specs of what stays as it is. */
export function frozenWeights(
  specs: readonly ParameterSpec[],
  { encoder, weights, stored }: Pick<Backbone, 'encoder' | 'weights' | 'stored'>,
): FrozenWeights {
  const offsets = new Map<string, number>();
  const others = new Map<string, Float32Array>();
  for (const { name } of specs) {
    const offset = stored?.offsets.get(bareName(encoder, name));
    const values = offset === undefined && weights.get(bareName(encoder, name));
    if (offset !== undefined) offsets.set(name, offset);
    else if (values) others.set(name, values);
  }
  return { weights: others, ...(stored && offsets.size > 0 && { stored: { file: stored.file, offsets } }) };
}

export function learningOptions({ frozen, tokensPerRun }: FrozenBackbone) {
  return { frozen, ...(tokensPerRun !== undefined && { tokensPerRun }) };
}

export function trainedHead<Head extends TrainingHead>(head: Head, plan: FrozenBackbone | undefined): Head {
  return plan?.adapters ? withAdapters(head, plan.adapters) : head;
}

/**
 * The finished model, with the adapters merged into its weights.
 * @param trained what has learned, by name.
 * @param pretrained the backbone's weights.
 */
export function wholeModel(
  head: TrainingHead,
  encoder: Encoder,
  trained: Weights,
  pretrained: Weights | undefined,
  { frozen, adapters }: Pick<FrozenBackbone, 'frozen' | 'adapters'>,
): { readonly weights: Weights; readonly fixed: FrozenWeights } {
  const specs = head.parameters(encoder);
  const before = (spec: ParameterSpec): Float32Array => {
    const known = trained.get(spec.name) ?? pretrained?.get(bareName(encoder, spec.name));
    if (known === undefined) throw new RangeError(`the backbone has no weight ${spec.name}`);
    return known;
  };
  const adapted = new Set(adapters && adaptedWeights(specs, adapters));
  const readers = specs.map((spec) => {
    const merges = adapters && adapted.has(spec);
    const read = () => (merges ? mergedWeight(spec, adapters, trained, before(spec)) : before(spec));
    return [spec.name, read] as const;
  });
  const merged = new Set([...adapted].map(({ name }) => name));
  const { stored } = frozen;
  const offsets = new Map([...(stored?.offsets ?? [])].filter(([name]) => !merged.has(name)));
  return {
    weights: new LazyWeights(readers),
    fixed: {
      weights: new LazyWeights(readers.filter(([name]) => !offsets.has(name))),
      ...(stored && offsets.size > 0 && { stored: { ...stored, offsets } }),
    },
  };
}
