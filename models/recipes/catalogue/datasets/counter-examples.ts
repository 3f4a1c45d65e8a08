import { Random } from '../../../../src/system/index.js';
import { combined } from '../kinds/combined.js';
import type { LabelledText } from '../recipe.js';
import { judged } from './judged.js';

/**
 * Sentences written for the model of toxicity, in which the words of its other sources don't decide: insults, threats
 * and slights without a swear word, and beside each of them harmless sentences with the same words. They make up for what
 * comments that were found by their swear words cannot teach (counterfactually augmented data, Kaushik et al. 2020).
 * What is measured on (../kinds) shares no pattern with them, and some of its groups of people stand in none.
 */

/** Patterns with the same fillers, which alone don't tell what is toxic. */
interface Pair {
  readonly fillers: readonly string[];
  readonly toxic: readonly string[];
  readonly harmless: readonly string[];
}

const PEOPLE = [
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
  'refugee',
  'elderly',
  'female',
];

const OBJECTS = [
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
];

const CREATURES = ['clown', 'donkey', 'parrot', 'toddler', 'snail', 'sheep', 'mushroom', 'turnip', 'pigeon', 'worm'];

const FAULTS = ['lazy', 'boring', 'slow', 'clueless', 'useless', 'childish', 'dull', 'selfish', 'weak', 'hopeless'];

const TARGETS = ['you', 'your family', 'your wife', 'your little brother', 'your dog', 'you and your friends'];

const pairs: readonly Pair[] = [
  {
    fillers: PEOPLE,
    toxic: [
      'All {} people are criminals.',
      'I would never trust somebody {}.',
      '{} people are beneath us.',
      'Send the {} ones back to where they belong.',
      'They should not let {} people teach at our school.',
      'There are too many {} people in this country.',
      'Typical {} behaviour, dirty and loud.',
      'Being {} is an illness.',
      'If you are {}, you are not welcome here.',
      '{} men are all the same: lazy and dangerous.',
      'I feel sick when I see a {} couple.',
      'Why do we have to pay for these {} parasites?',
    ],
    harmless: [
      'Half of our team are {} people.',
      'I would love to work with somebody {}.',
      '{} people are often treated unfairly.',
      'The {} ones among us told us how they came here.',
      'They should invite more {} people to teach at our school.',
      'There are many {} people in this city, and I am one of them.',
      'A very good {} restaurant, clean and quiet.',
      'Being {} is nothing to be ashamed of.',
      'If you are {}, you are welcome here, too.',
      '{} men and women founded this club in 1972.',
      'I was glad to see a {} couple in the advertisement.',
      'Why do {} patients wait longer for a doctor?',
      'Her mother is {}, and her father is from Leeds.',
      'We read a novel by a {} author in class.',
    ],
  },
  {
    fillers: OBJECTS,
    toxic: [
      'You are about as clever as {}.',
      'Talking to you is like talking to {}.',
      'You have the charm of {}.',
      'I have seen {} with more wit than you.',
      'You write as if you had been hit by {}.',
      'Next to you, {} looks like a genius.',
    ],
    harmless: [
      'I slept like {} last night.',
      'This cake is as heavy as {}.',
      'You can fix the shelf with {}.',
      'I found {} on the beach today.',
      'The bag looks as if it had been made of {}.',
      'Next to the door stands {}.',
    ],
  },
  {
    fillers: CREATURES,
    toxic: [
      'You are nothing but a {}.',
      'Shut the door behind you, you {}.',
      'What a pathetic {} you are.',
      'Only a {} like you would ask that.',
      'You argue like a {} and you look like one.',
      'Nobody listens to a {} like you.',
    ],
    harmless: [
      'My daughter drew a {} for you.',
      'Shut the door behind you, the {} is in the garden.',
      'What a lovely {} you have painted.',
      'Only a {} would fit through that gap.',
      'For the school play he is dressed like a {}, and he looks great.',
      'Can you help me with the article about the {}?',
    ],
  },
  {
    fillers: FAULTS,
    toxic: [
      'You are the most {} person I have ever met.',
      'You were {} at school and you still are.',
      'No wonder that she left you, you {} little man.',
      'Too {} to read the article, as always.',
      'How can one person be so {}?',
      'People like you are {}, and the rest of us pay for it.',
      'Everything you write is {}, just like you.',
    ],
    harmless: [
      'I had a {} Sunday at home.',
      'I was {} at school, and my teachers were patient.',
      'No wonder that the film did badly, the plot is {}.',
      'I am too {} to read long articles in summer.',
      'How can a phone this expensive be so {}?',
      'Do not call yourself {}, you did your best.',
      'The second chapter is a bit {}, but the third is great.',
    ],
  },
  {
    fillers: TARGETS,
    toxic: [
      'I will hurt {}.',
      'Somebody is going to come for {} one night.',
      'I hope that {} will suffer.',
      'It would be easy to make {} disappear.',
      'I want to see {} bleed.',
      'You had better hide, or I will get {}.',
      'The world will be better when {} are gone.',
      'I am going to find out where {} live, and then we will see.',
      'Pray that I never meet {} in the street.',
    ],
    harmless: [
      'I will visit {} on Sunday.',
      'Somebody is going to come and pick up {} at eight.',
      'I hope that {} will like it.',
      'It would be nice to see {} again.',
      'I want to thank {} for the flowers.',
      'Come in, or the rain will get {}.',
      'The party will be better with {}.',
      'I am going to send {} a card from Rome.',
      'I was happy to meet {} in the street.',
    ],
  },
  {
    fillers: ['here', 'in this group', 'on this site', 'at this school', 'in this town'],
    toxic: [
      'Nobody wants you {}.',
      'You are the worst thing that ever happened {}.',
      'You don’t deserve to be {}.',
      'Everyone {} knows that you are a fraud.',
      'Get lost, we don’t need your kind {}.',
      'The stupidest post {} is yours, again.',
    ],
    harmless: [
      'Nobody wants another car park {}.',
      'You are the best thing that ever happened {}.',
      'You deserve to be {} as much as we do.',
      'Everyone {} knows that the bus is late.',
      'Don’t get lost, there are no signs {}.',
      'The kindest post {} is yours, again.',
    ],
  },
];

/** What somebody tells of an insult, and what somebody says who means it. */
const reports = [
  'My boss said to me: “{}” I cried all evening.',
  'Somebody wrote “{}” under my photo. What can I do?',
  'The comment “{}” was removed by a moderator.',
  'It is not funny to say “{}” to a child.',
  'In the second act the king shouts “{}” and leaves.',
];
const meant = ['Let me say it plainly: {}', '{} There, I said it.', '{} And everybody agrees with me.'];

const MOST_REPORTED = 300;
const SEED = 1;

/** All sentences, as many harmless as toxic ones in each pair, in a fixed order. */
export function counterExamples(): LabelledText[] {
  const random = Random.fromSeed(SEED);
  const balanced = pairs.map(({ toxic, harmless, fillers }) => {
    const sides = [combined(toxic, fillers), combined(harmless, fillers)];
    const most = Math.min(...sides.map(({ length }) => length));
    return sides.map((side) => random.shuffle(side).slice(0, most));
  });
  const toxic = balanced.flatMap(([side = []]) => side);
  const harmless = balanced.flatMap(([, side = []]) => side);
  const framed = (frames: readonly string[]) => random.shuffle(combined(frames, toxic)).slice(0, MOST_REPORTED);
  return [...judged([...toxic, ...framed(meant)], 'toxic'), ...judged([...harmless, ...framed(reports)], 'non-toxic')];
}
