import type { InferenceResult } from '../../contract/index.js';
import { ModelFolderError } from '../../errors.js';
import { CrfExpert } from '../../lexical/index.js';
import { CONFIG_FILE, EXPERT_FILE, type ModelFolderConfig } from '../../model-folder/index.js';
import { allAtOnce } from '../../pauses.js';
import type { TextOutputs } from '../../text-reader/index.js';
import type { Decoder, ModelFiles } from '../family.js';
import { splitWords } from '../words.js';
import { bioConstraints } from './bio-constraints.js';
import { entityExplainer } from './explainer.js';
import { entityResult, SequenceDecoder, tagEvidenceInSteps } from './sequence-decoder.js';
import { wordOutputs } from './word-pieces.js';

/** The entities of the tags that are most probable to both experts. @throws ModelFolderError */
export function grapefruitDecoder({ orchard }: ModelFolderConfig, files: ModelFiles): Decoder {
  const { labels: tags, words: splitting = 'whitespace', blend, lowercase } = orchard;
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
    const evidence = yield* tagEvidenceInSteps(words, logits, tags.length, expert, lowercase);
    const entities = yield* decoder.entitiesInSteps(evidence);
    return entityResult(text, words, entities);
  }
  const explainer = entityExplainer({ tags: tags.length, splitting, lowercase, expert, decoder });
  const decode = (text: string, outputs: TextOutputs) => allAtOnce(inSteps(text, outputs));
  return Object.assign(decode, { inSteps, explainer });
}
