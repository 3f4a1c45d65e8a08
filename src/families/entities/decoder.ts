import { type InferenceResult, ModelFolderError } from '../../contract/index.js';
import type { TagDoubt } from '../../datasets/index.js';
import { CrfExpert } from '../../lexical/index.js';
import { CONFIG_FILE, EXPERT_FILE, type ModelFolderConfig } from '../../models/index.js';
import { runToEnd } from '../../system/index.js';
import type { TextOutputs, Tokenizer } from '../../text/index.js';
import { type Explainer, logOdds, refuseLabel, shareByWords, type WordSpan, weighedWords } from '../explanation.js';
import type { Decoder, ModelFiles } from '../family.js';
import { splitWords, type Word, type WordSplitting } from '../words.js';
import { entityResult, SequenceDecoder, tagEvidence } from './bio-decoding.js';
import { bioConstraints } from './bio-tags.js';
import { tokenDecoder } from './token-decoding.js';
import { wordOutputs } from './word-pieces.js';

/**
 * The entities of the tags that are most probable to both experts; in a folder with `aggregation`, those of the tokens' own
 * labels. @throws ModelFolderError
 */
export function grapefruitDecoder({ orchard }: ModelFolderConfig, files: ModelFiles, tokenizer?: Tokenizer): Decoder {
  const { labels: tags, words: splitting = 'whitespace', blend, lowercase, aggregation } = orchard;
  if (aggregation !== undefined && tokenizer !== undefined) {
    const { continuing_prefix: continuingPrefix } = orchard;
    return tokenDecoder({ labels: tags, aggregation, continuingPrefix, tokenizer });
  }
  const file = files.get(EXPERT_FILE);
  if (file === undefined || blend === undefined) {
    throw new ModelFolderError(CONFIG_FILE, 'the orchard section names no lexical expert, or has no blend');
  }
  const expert = CrfExpert.decode(file.bytes, file.file);
  if (expert.tags !== tags.length) {
    const reason = `it has ${expert.tags} tags, but ${CONFIG_FILE} has ${tags.length} labels`;
    throw new ModelFolderError(file.file, reason);
  }
  const decoder = new SequenceDecoder(tags, bioConstraints(tags), expert.transitions, blend);
  function* inSteps(text: string, outputs: TextOutputs): Generator<undefined, InferenceResult> {
    const words = splitWords(text, splitting);
    yield;
    const logits = wordOutputs(outputs, words, tags.length);
    yield;
    const evidence = yield* tagEvidence(words, logits, tags.length, expert, lowercase);
    const entities = yield* decoder.entities(evidence);
    return entityResult(text, words, entities);
  }
  const tagShares = (text: string, outputs: TextOutputs) => {
    const words = splitWords(text, splitting);
    const logits = wordOutputs(outputs, words, tags.length);
    const shares = decoder.marginals(runToEnd(tagEvidence(words, logits, tags.length, expert, lowercase)));
    return words.map(({ text: { length }, start }, word): TagDoubt => {
      const own = shares.subarray(word * tags.length, (word + 1) * tags.length);
      return { start, end: start + length, tags: Object.fromEntries(tags.map((tag, id) => [tag, own[id] ?? 0])) };
    });
  };
  const explainer = entityExplainer({ tags: tags.length, splitting, lowercase, expert, decoder });
  const decode = (text: string, outputs: TextOutputs) => runToEnd(inSteps(text, outputs));
  return Object.assign(decode, { inSteps, explainer, tagShares });
}

/** A word that no training text has. */
const UNSEEN = '\uFFFD';

interface ExplainedTagger {
  readonly tags: number;
  readonly splitting: WordSplitting;
  readonly lowercase: boolean;
  readonly expert: CrfExpert;
  readonly decoder: SequenceDecoder;
}

/** What an entity's log-odds lose when the encoder reads a mask for a word, and the expert a word it has never seen. */
function entityExplainer(tagger: ExplainedTagger): Explainer {
  const { tags, expert, lowercase, decoder } = tagger;
  const evidenceOf = (words: readonly Word[], places: readonly Word[], outputs: TextOutputs) =>
    tagEvidence(words, wordOutputs(outputs, places, tags), tags, expert, lowercase);
  return {
    leavesOut: 'masked',
    wordsOf: (text) => splitWords(text, tagger.splitting),
    *explain(text, words, outputs, leftOut, { label }) {
      refuseLabel(label);
      yield;
      const entities = yield* decoder.entities(yield* evidenceOf(words, words, outputs));
      const lost: { readonly span: WordSpan; readonly scores: readonly number[] }[] = [];
      for (const { span, outputs: without } of entities.length === 0 ? [] : leftOut) {
        const evidence = yield* evidenceOf(withUnseen(words, span), words, without);
        lost.push({ span, scores: decoder.scored(evidence, entities).map(({ score }) => score) });
        yield;
      }
      const result = entityResult(text, words, entities);
      const explained = entities.map(({ type, score }, position) => {
        const added = lost.map(({ span, scores }) => ({
          span,
          added: logOdds(score) - logOdds(scores[position] ?? 0),
        }));
        const weights = shareByWords(words.length, added);
        return { answer: type, score, position, words: weighedWords(words, (at) => weights[at] ?? 0) };
      });
      return { ...result, explained };
    },
  };
}

function withUnseen(words: readonly Word[], { first, end }: WordSpan): Word[] {
  return words.map((word, at) => (at >= first && at < end ? { ...word, text: UNSEEN } : word));
}
