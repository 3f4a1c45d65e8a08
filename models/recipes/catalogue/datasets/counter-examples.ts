import { Random } from '../../../../src/system/index.js';
import { capitalized } from '../kinds/combined.js';
import type { LabelledText } from '../recipe.js';
import { insultingComments, slightingComments, threateningComments } from './counter-comments.js';
import { NEUTRAL_FRAMES, RETELLING_FRAMES } from './counter-frames.js';
import { insults } from './counter-insults.js';
import { slights } from './counter-slights.js';
import { insultingStories, slightingStories, threateningStories } from './counter-stories.js';
import { threats } from './counter-threats.js';
import { judged } from './judged.js';

/**
 * Sentences written for the model of toxicity, in which the words of its other sources don't decide: insults, threats
 * and slights without a swear word, and next to them harmless sentences with the same words and shapes. They make up
 * for what comments that were found by their swear words cannot teach (counterfactually augmented data, Kaushik et al.
 * 2020). What is measured on (../kinds) shares no pattern with them, and some of its groups of people stand in none.
 */

/**
 * Patterns with the same nouns, verbs and shapes on both sides. `{a|b|c}` stands for each of the alternatives, which
 * may have alternatives in turn; `{people}` and the other names of `FILLERS` for each of their fillers.
 */
export interface Pair {
  readonly toxic: readonly string[];
  readonly harmless: readonly string[];
}

const FILLERS: Readonly<Record<string, readonly string[]>> = {
  /** Adjectives for groups of people. */
  group: [
    'gay',
    'queer',
    'bisexual',
    'trans',
    'Muslim',
    'Jewish',
    'Hindu',
    'Catholic',
    'black',
    'white',
    'Asian',
    'Chinese',
    'Arab',
    'African',
    'Polish',
    'Latino',
    'disabled',
    'deaf',
    'autistic',
    'foreign',
    'elderly',
    'female',
  ],
  /** The same groups in the plural. */
  people: [
    'gay people',
    'queer people',
    'bisexual people',
    'trans people',
    'Muslims',
    'Jewish people',
    'Hindus',
    'Catholics',
    'black people',
    'white people',
    'Asians',
    'Chinese people',
    'Arabs',
    'Africans',
    'Poles',
    'Latinos',
    'disabled people',
    'deaf people',
    'autistic people',
    'foreigners',
    'refugees',
    'elderly people',
    'women',
  ],
  object: [
    'a brick',
    'a wet sponge',
    'a broken clock',
    'a blunt knife',
    'a flat tyre',
    'an empty bottle',
    'a bag of sand',
    'a wooden spoon',
    'a paper plane',
    'an old sock',
    'a garden chair',
    'a dead battery',
  ],
  creature: ['clown', 'donkey', 'parrot', 'toddler', 'snail', 'sheep', 'mushroom', 'turnip', 'pigeon', 'worm'],
  fault: ['lazy', 'boring', 'slow', 'clueless', 'useless', 'childish', 'dull', 'selfish', 'weak', 'hopeless'],
};

const KINDS: readonly (readonly Pair[])[] = [
  [...threats, threateningComments, threateningStories],
  [...insults, insultingComments, insultingStories],
  [...slights, slightingComments, slightingStories],
];

/** Number of each kind on each side, without those that are retold. */
const SENTENCES = 1400;
/** Toxic sentences that are told once in a report, and once by somebody who means them. */
const RETOLD = 600;
/** Shares of the sentences on each side. */
const FRAMED = 0.25;
const CHATTED = 0.15;
const SHOUTED = 0.03;
const STRAIGHT_APOSTROPHES = 0.5;
const SEED = 1;

/** All sentences, as many harmless as toxic ones of each kind, in a fixed order. */
export function counterExamples(): LabelledText[] {
  const random = Random.fromSeed(SEED);
  const sentences = (side: keyof Pair) => {
    const patterns = KINDS.map((pairs) => pairs.flatMap((pair) => pair[side]));
    return patterns.flatMap((ofKind) => filled(ofKind, random));
  };
  const [toxic, harmless] = [sentences('toxic'), sentences('harmless')];
  const retold = random.shuffle(toxic.filter((text) => !text.includes('“'))).slice(0, RETOLD);
  const framed = (by: 'report' | 'approval') =>
    retold.map((text, at) => within(RETELLING_FRAMES[at % RETELLING_FRAMES.length]?.[by], text));
  const varied = (texts: readonly string[]) => texts.map((text) => inRegister(text, random));
  return [
    ...judged([...varied(toxic), ...framed('approval')], 'toxic'),
    ...judged([...varied(harmless), ...framed('report')], 'non-toxic'),
  ];
}

/** Different sentences: as many of each pattern, as long as it gives new ones, with each filler equally often. */
function filled(patterns: readonly string[], random: Random): string[] {
  const left = new Map<string, string[]>();
  const draw = (inside: string): string => {
    const drawn = left.get(inside)?.pop();
    if (drawn !== undefined) return drawn;
    left.set(inside, random.shuffle(FILLERS[inside] ?? inside.split('|')));
    return draw(inside);
  };
  const texts = new Set<string>();
  while (texts.size < SENTENCES) {
    const before = texts.size;
    for (const pattern of patterns) {
      let text = pattern;
      for (let slot = SLOT.exec(text); slot !== null; slot = SLOT.exec(text)) {
        text = text.replaceAll(slot[0], draw(slot[1] ?? ''));
      }
      text = text.replaceAll(/\b([Aa]) (?=autistic|elderly|A[a-z])/gu, '$1n ');
      texts.add(FULL_STOP.test(text) ? capitalized(text) : text);
    }
    if (texts.size === before) throw new Error(`The patterns give only ${before} sentences.`);
  }
  return [...texts].slice(0, SENTENCES);
}

/** The first innermost slot. */
const SLOT = /\{([^{}]*)\}/u;
/** A sentence of a chat has none and keeps its small first letter, too. */
const FULL_STOP = /[.?!”]$/u;

const within = (frame = '{}', text: string) => capitalized(frame.replace('{}', text));

/** As it stands or in a frame that changes nothing, and now and then as in a chat or in capitals. */
function inRegister(text: string, random: Random): string {
  const frame = NEUTRAL_FRAMES[random.integer(NEUTRAL_FRAMES.length)];
  const framed = random.uniform() < FRAMED ? within(frame, text) : text;
  const typed = random.uniform() < STRAIGHT_APOSTROPHES ? framed.replaceAll('’', "'") : framed;
  const register = random.uniform();
  if (register < SHOUTED) return typed.toUpperCase();
  return register < SHOUTED + CHATTED ? chatted(typed) : typed;
}

const CHAT: readonly (readonly [RegExp, string])[] = [
  [/\byou['’]re\b/gu, 'ur'],
  [/\byour\b/gu, 'ur'],
  [/\byou\b/gu, 'u'],
  [/\bpeople\b/gu, 'ppl'],
  [/\bplease\b/gu, 'pls'],
  [/\bbecause\b/gu, 'bc'],
  [/['’](?=\p{L})/gu, ''],
  [/\.$/gu, ''],
];

const chatted = (text: string) =>
  CHAT.reduce((changed, [found, typed]) => changed.replaceAll(found, typed), text.toLowerCase());
