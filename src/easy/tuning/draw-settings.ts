/** Settings at random: as good as a grid of the same size or better (Bergstra & Bengio 2012). */
import type { Random } from '../../random.js';
import type { CheckedSpace, NumberRange, TrialSettings } from './space.js';

type Numbers = NumberRange | readonly number[];

/** Tries before a space counts as used up. */
const TRIES = 200;

/**
 * Settings that were not drawn before; undefined once there seem to be none left.
 * @param drawn what was drawn so far; the new ones are added.
 */
export function drawSettings(
  space: CheckedSpace,
  random: Random,
  drawn: Set<string>,
): TrialSettings | undefined {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const settings = drawOnce(space, random);
    const key = JSON.stringify(settings);
    if (drawn.has(key)) continue;
    drawn.add(key);
    return settings;
  }
  return undefined;
}

function drawOnce(space: CheckedSpace, random: Random): TrialSettings {
  const { learningRate, batchSize, epochs, labelSmoothing, tokenDropout } = space;
  const { classWeights, augment, lowercase, size, base, adapters, freeze } = space;
  const pick = <Value>(values: readonly Value[]) => values[random.integer(values.length)];
  const number = (values: Numbers, round: (value: number) => number) =>
    isList(values) ? pick(values) : within(values, round(between(values, random.uniform())));
  return defined({
    learningRate: learningRate && number(learningRate, twoDigits),
    batchSize: batchSize && number(batchSize, Math.round),
    epochs: epochs && number(epochs, Math.round),
    labelSmoothing: labelSmoothing && number(labelSmoothing, twoDigits),
    tokenDropout: tokenDropout && number(tokenDropout, twoDigits),
    classWeights: classWeights && pick(classWeights),
    augment: augment && pick(augment),
    lowercase: lowercase && pick(lowercase),
    size: size && pick(size),
    base: base && pick(base),
    adapters: adapters && pick(adapters),
    freeze: freeze && pick(freeze),
  });
}

function isList(values: Numbers): values is readonly number[] {
  return Array.isArray(values);
}

/** @param share 0 to 1. */
function between({ min, max, scale }: NumberRange, share: number): number {
  return scale === 'log' ? min * (max / min) ** share : min + share * (max - min);
}

/** Rounding must not leave the range. */
function within({ min, max }: NumberRange, value: number): number {
  return Math.min(max, Math.max(min, value));
}

/** Two significant digits: more make no difference to a training, and a table harder to read. */
function twoDigits(value: number): number {
  return Number(value.toPrecision(2));
}

type Open<Settings> = { readonly [Name in keyof Settings]: Settings[Name] | undefined };

/** Without the settings that have no value. */
function defined(settings: Open<Required<TrialSettings>>): TrialSettings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
