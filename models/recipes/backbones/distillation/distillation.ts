import type { Encoder } from '../../../../src/encoder/index.js';
import { dropTokens } from '../../../../src/engine/index.js';
import type { Encoding, SpecialTokenIds } from '../../../../src/text/index.js';
import { encodingOf, type LearningBatch, type Objective } from '../student/objective.js';
import { type Capitals, showCapitals } from './capitals.js';
import type { Course, Curriculum, Relations } from './courses.js';
import { distillationHead, distillationParameters } from './distillation-head.js';
import { asPlanned, distillationFeeds, type Emphasis, type TaughtBatch } from './feeds.js';
import type { Place, Targets } from './targets.js';

export interface DistillationOptions {
  readonly encoder: Encoder;
  readonly specialTokens: Pick<SpecialTokenIds, 'mask'>;
  readonly targets: Targets;
  readonly curriculum: Curriculum;
  /** Share of the student's tokens that are replaced by [MASK]; its teachers have read them all. */
  readonly maskedShare: number;
  /** Which passages show their capitals. Default: none does. */
  readonly capitals?: Capitals;
  /** The first texts, which are never trained on and measure how good the student is. */
  readonly validationTexts: number;
  /** Texts of a validation batch. */
  readonly batchSize: number;
  readonly seed: number;
}

/** Trains a student to give its teachers' vectors although some of its tokens are masked. */
export function distillation(options: DistillationOptions): Objective {
  const { encoder, specialTokens, targets, curriculum, maskedShare, capitals, batchSize, seed } = options;
  const validation = targets.places.slice(0, options.validationTexts);
  const train = targets.places.slice(options.validationTexts);
  if (train.length === 0) throw new Error(`${targets.places.length} texts have targets: too few to train on`);
  const measures = measuresOf(curriculum);
  const seen = (places: readonly Place[], step: number): readonly Encoding[] => {
    const encodings = places.map((place) => encodingOf(targets.ids(place)));
    if (capitals === undefined) return encodings;
    return showCapitals(
      encodings,
      places.map((place) => targets.passage(place)),
      capitals,
      seed,
      step,
    );
  };
  const batchOf = (places: readonly Place[], emphasis: Emphasis, step: number): LearningBatch => ({
    encodings: seen(places, step),
    feeds: distillationFeeds(curriculum, taughtBatch(targets, places), emphasis),
  });
  const tokens = (place: Place) => targets.tokens(place);
  return {
    head: distillationHead(encoder, curriculum),
    parameters: distillationParameters(encoder, curriculum),
    lengths: train.map(tokens),
    longest: targets.places.reduce((most, place) => Math.max(most, tokens(place)), 0),
    batch(examples, step) {
      const places = examples.flatMap((example) => train[example] ?? []);
      const { encodings, feeds } = batchOf(places, asPlanned, step);
      return { encodings: dropTokens(encodings, maskedShare, specialTokens.mask, seed, step), feeds };
    },
    measures: [...measures.keys()],
    *validation(measure) {
      const emphasis = measures.get(measure);
      if (emphasis === undefined) throw new RangeError(`no measure ${measure}`);
      for (let start = 0; start < validation.length; start += batchSize) {
        yield batchOf(validation.slice(start, start + batchSize), emphasis, start);
      }
    },
  };
}

/** Each part of the curriculum by itself: the mean of 1 − cosine, or the mean divergence of relations. */
export function measuresOf({ courses, relations }: Curriculum): ReadonlyMap<string, Emphasis> {
  const nothing = { passages: 0, spans: 0 };
  const only =
    (wanted: Course | Relations, weights: { passages: number; spans: number }): Emphasis =>
    (part) =>
      part === wanted ? weights : nothing;
  return new Map<string, Emphasis>([
    ...courses.flatMap((course): [string, Emphasis][] => [
      ...(course.passages > 0 ? measure(`${course.name} passages`, only(course, { ...nothing, passages: 1 })) : []),
      ...(course.spans > 0 ? measure(`${course.name} spans`, only(course, { ...nothing, spans: 1 })) : []),
    ]),
    ...relations.flatMap((each) => measure(each.name, only(each, { ...nothing, spans: 1 }))),
  ]);
}

const measure = (name: string, emphasis: Emphasis): [string, Emphasis][] => [[name, emphasis]];

/** A batch's texts for each teacher. */
function taughtBatch(targets: Targets, places: readonly Place[]): TaughtBatch {
  return (name) => {
    const teacher = targets.of(name);
    return places.map((place) => {
      const { shard, text } = place;
      const spans = teacher.spans(shard, text);
      return {
        tokens: targets.tokens(place),
        spans,
        rows: (track) => teacher.rows(shard, text, track, spans.length),
      };
    });
  };
}
