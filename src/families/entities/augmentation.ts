import { Random } from '../../system/index.js';
import type { AugmentOptions } from '../family.js';
import { beginTag, type EntitySpan, insideTag, spansOf } from './bio-tags.js';
import type { TaggedSentence } from './sequence-dataset.js';

/** Shares of the sentences that are copied in lower case and in capitals (docs/entities.md#upper-and-lower-case). */
const LOWER_CASE = 1 / 4;
const CAPITALS = 1 / 8;

/**
 * Edited copies of sentences: of each that has a mention, one with another mention of its type, if there is any; and of
 * some, one all in lower case or all in capitals, as people type, unless the model tells no case from another.
 * @param tags BIO tags in the order of their ids.
 */
export function augmentSentences(
  sentences: readonly TaggedSentence[],
  tags: readonly string[],
  { seed, lowercase }: AugmentOptions,
): TaggedSentence[] {
  const random = Random.fromSeed(seed);
  const replaced = withOtherMentions(sentences, tags, random).filter((copy, at) => copy !== sentences[at]);
  return lowercase ? replaced : [...replaced, ...inOtherCase(sentences, random)];
}

function inOtherCase(sentences: readonly TaggedSentence[], random: Random): TaggedSentence[] {
  return sentences.flatMap(({ words, tags }) => {
    const changed = changeCase(words, random.uniform());
    return changed.some((word, at) => word !== words[at]) ? [{ words: changed, tags }] : [];
  });
}

/** @param drawn at least 0 and below 1. */
function changeCase(words: readonly string[], drawn: number): readonly string[] {
  if (drawn < LOWER_CASE) return words.map((word) => word.toLowerCase());
  return drawn < LOWER_CASE + CAPITALS ? words.map((word) => word.toUpperCase()) : words;
}

/** The probability that a mention is replaced ("mention replacement", Dai & Adel 2020). */
const REPLACEMENT_PROBABILITY = 0.5;

/** The distinct mentions of one type, each as its words. */
type Mentions = readonly (readonly string[])[];

/**
 * Copies of sentences, each with at least one mention replaced by another of its type from the same sentences; a
 * sentence without a mention that can be replaced stays as it is, the same object. In their order.
 * @param tags BIO tags in the order of their ids.
 */
export function withOtherMentions(
  sentences: readonly TaggedSentence[],
  tags: readonly string[],
  random: Random,
): TaggedSentence[] {
  const idOf = new Map(tags.map((tag, id) => [tag, id]));
  const located = sentences.map((sentence) => ({
    sentence,
    spans: spansOf(sentence.tags.map((id) => tags[id] ?? '')),
  }));
  const mentions = mentionsByType(located);
  return located.map(({ sentence, spans }) => {
    const replaceable = spans.filter(({ type }) => (mentions.get(type)?.length ?? 0) > 1);
    const chosen = chooseSome(replaceable, random);
    return chosen.length === 0 ? sentence : replaceMentions(sentence, chosen, mentions, idOf, random);
  });
}

function mentionsByType(
  located: readonly { sentence: TaggedSentence; spans: readonly EntitySpan[] }[],
): ReadonlyMap<string, Mentions> {
  const byType = new Map<string, Map<string, readonly string[]>>();
  for (const { sentence, spans } of located) {
    for (const { type, start, end } of spans) {
      const words = sentence.words.slice(start, end);
      const known = byType.get(type) ?? new Map<string, readonly string[]>();
      byType.set(type, known.set(words.join(' '), words));
    }
  }
  return new Map([...byType].map(([type, known]) => [type, [...known.values()]]));
}

/** Chooses each span with the same probability, but at least one. */
function chooseSome(spans: readonly EntitySpan[], random: Random): readonly EntitySpan[] {
  if (spans.length === 0) return [];
  const sure = random.integer(spans.length);
  return spans.filter((_, index) => random.uniform() < REPLACEMENT_PROBABILITY || index === sure);
}

function replaceMentions(
  sentence: TaggedSentence,
  spans: readonly EntitySpan[],
  mentions: ReadonlyMap<string, Mentions>,
  idOf: ReadonlyMap<string, number>,
  random: Random,
): TaggedSentence {
  const words = [...sentence.words];
  const tags = [...sentence.tags];
  // From the right, so that the spans still to come stay where they are.
  for (const { type, start, end } of [...spans].reverse()) {
    const others = mentions.get(type) ?? [];
    const mention = otherThan(words.slice(start, end), others, random);
    const mentionTags = mention.map((_, index) => (index === 0 ? beginTag(type) : insideTag(type)));
    words.splice(start, end - start, ...mention);
    tags.splice(start, end - start, ...mentionTags.flatMap((tag) => idOf.get(tag) ?? []));
  }
  return { words, tags };
}

/** Any of the mentions but this one, all equally likely. */
function otherThan(mention: readonly string[], mentions: Mentions, random: Random): readonly string[] {
  const text = mention.join(' ');
  const own = mentions.findIndex((words) => words.join(' ') === text);
  const other = random.integer(mentions.length - 1);
  return mentions[other < own ? other : other + 1] ?? mention;
}
