import { ValidationError } from '../contract/index.js';
import type { SentenceConfig } from '../models/index.js';

/** A prompt, which is put before a text: the name of one of the model's prompts, or a text. */
export type Prompt = string | { readonly text: string };

/** Names that mean no prompt where a model has none: sentence-transformers' `encode_query` and `encode_document`. */
const USUAL_PROMPTS: Readonly<Record<string, readonly string[]>> = {
  query: ['query'],
  document: ['document', 'passage', 'corpus'],
};

/** @throws ValidationError that lists the model's prompts */
export function promptText(
  { prompts, default_prompt }: Pick<SentenceConfig, 'prompts' | 'default_prompt'>,
  prompt: Prompt | undefined,
): string {
  if (typeof prompt === 'object') return prompt.text;
  const asked = prompt ?? default_prompt;
  if (asked === undefined) return '';
  const usual = USUAL_PROMPTS[asked] ?? [];
  for (const name of [asked, ...usual]) if (Object.hasOwn(prompts, name)) return prompts[name] ?? '';
  if (usual.length > 0) return '';
  const names = Object.keys(prompts);
  const known = names.length === 0 ? 'it has none' : `its prompts are ${names.join(', ')}`;
  const msg = `the model has no prompt ${JSON.stringify(asked)}: ${known} (for a prompt of your own, give \`prompt: { text: ${JSON.stringify(asked)} }\`)`;
  throw new ValidationError([{ loc: ['prompt'], msg, type: 'unknown_prompt' }]);
}

/** @throws ValidationError if several different texts all have the same vector. @param model named in it */
export function requireDifferent(texts: readonly string[], vectors: readonly Float32Array[], model: string): void {
  const [first] = vectors;
  const other = texts.findIndex((text) => folded(text) !== folded(texts[0] ?? ''));
  if (first === undefined || other < 0 || vectors.some((vector) => !isSame(vector, first))) return;
  const msg = `${model} knows no word of this text or of the others, so all their vectors are the same; choose a model for their language or script`;
  throw new ValidationError([{ loc: ['texts', other], msg, type: 'unfamiliar_text' }]);
}

/** Without what a tokenizer may ignore, too. */
function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{C}\s]/gu, '')
    .toLowerCase();
}

/** Sums of other lengths of a batch differ in their last bits. */
const SAME = 1e-6;

function isSame(a: Float32Array, b: Float32Array): boolean {
  return a.every((value, at) => Math.abs(value - (b[at] ?? 0)) < SAME);
}
