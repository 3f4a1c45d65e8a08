import { ModelFolderError } from '../contract/index.js';
import { fields, flag, type JsonShape, listOf, object, requireShape, text } from '../system/index.js';
import type { SpecialTokenTemplates, TemplatePart } from './encoding.js';
import {
  bertProcessingShape,
  type TemplatePiece,
  templateProcessingShape,
  tokenAndId,
  UnknownPartError,
} from './tokenizer-json.js';

export interface SpaceTrimming {
  /** Whether a space was put before the text. */
  readonly addsPrefixSpace: boolean;
}

interface PostProcessing {
  readonly templates: SpecialTokenTemplates;
  /** Each takes the spaces of a piece out of its span. */
  readonly trimmings: readonly SpaceTrimming[];
}

const FIRST: TemplatePart = { kind: 'text', text: 0, typeId: 0 };
const SECOND: TemplatePart = { kind: 'text', text: 1, typeId: 1 };
const PLAIN: SpecialTokenTemplates = { single: [FIRST], pair: [FIRST, SECOND] };

const typeShape = fields({ type: text }, {});
const listShape = fields({ processors: listOf(object) }, {});
const trimmingShape = fields({}, { trim_offsets: flag, add_prefix_space: flag });
const robertaShape = fields({ sep: tokenAndId, cls: tokenAndId }, { trim_offsets: flag, add_prefix_space: flag });

/** @throws ModelFolderError */
function fieldsOf<Fields>(shape: JsonShape<Fields>, part: unknown, file: string): Fields {
  return requireShape(shape, part, file, 'post_processor');
}

/** @throws UnknownPartError @throws ModelFolderError for wrong fields */
export function readPostProcessor(part: unknown, file: string): PostProcessing {
  const steps = stepsOf(part, file).map((step) => readStep(step, file));
  const templates = steps.flatMap((step) => step.templates ?? []);
  if (templates.length > 1) throw new UnknownPartError('a post-processor with several templates');
  return { templates: templates[0] ?? PLAIN, trimmings: steps.flatMap(({ trimmings }) => trimmings) };
}

function stepsOf(part: unknown, file: string): readonly unknown[] {
  if (part === null || part === undefined) return [];
  if (fieldsOf(typeShape, part, file).type !== 'Sequence') return [part];
  return fieldsOf(listShape, part, file).processors.flatMap((step) => stepsOf(step, file));
}

type Step = Partial<PostProcessing> & Pick<PostProcessing, 'trimmings'>;

function readStep(part: unknown, file: string): Step {
  const { type } = fieldsOf(typeShape, part, file);
  if (type === 'ByteLevel') return { trimmings: trimmingsOf(part, file) };
  if (type === 'RobertaProcessing') {
    const { cls, sep } = fieldsOf(robertaShape, part, file);
    return { templates: robertaTemplates(cls[1], sep[1]), trimmings: trimmingsOf(part, file) };
  }
  if (type === 'BertProcessing' || type === 'TemplateProcessing') {
    return { templates: readTemplates(part, file), trimmings: [] };
  }
  throw new UnknownPartError(`the post-processor ${type}`);
}

function trimmingsOf(part: unknown, file: string): SpaceTrimming[] {
  const { trim_offsets = true, add_prefix_space = true } = fieldsOf(trimmingShape, part, file);
  return trim_offsets ? [{ addsPrefixSpace: add_prefix_space }] : [];
}

/** `<s> A </s>` and `<s> A </s> </s> B </s>`, all of token type 0. */
function robertaTemplates(cls: number, sep: number): SpecialTokenTemplates {
  const classifier: TemplatePart = { kind: 'special', id: cls, typeId: 0 };
  const separator: TemplatePart = { kind: 'special', id: sep, typeId: 0 };
  const single = [classifier, FIRST, separator];
  return { single, pair: [...single, separator, { ...SECOND, typeId: 0 }, separator] };
}

/** Null: none. @throws ModelFolderError if a token of the template has no ids. */
export function readTemplates(part: unknown, file: string): SpecialTokenTemplates {
  if (part === null || part === undefined) return PLAIN;
  if (fieldsOf(typeShape, part, file).type === 'BertProcessing') {
    const { cls, sep } = fieldsOf(bertProcessingShape, part, file);
    const classifier: TemplatePart = { kind: 'special', id: cls[1], typeId: 0 };
    const separator: TemplatePart = { kind: 'special', id: sep[1], typeId: 0 };
    const single = [classifier, FIRST, separator];
    return { single, pair: [...single, SECOND, { ...separator, typeId: 1 }] };
  }
  const { single, pair, special_tokens } = fieldsOf(templateProcessingShape, part, file);
  const missing = [...single, ...pair]
    .map((piece) => ('SpecialToken' in piece ? piece.SpecialToken.id : undefined))
    .find((token) => token !== undefined && !Object.hasOwn(special_tokens, token));
  if (missing !== undefined) {
    const reason = `post_processor.special_tokens: ${JSON.stringify(missing)} of the template is missing`;
    throw new ModelFolderError(file, reason);
  }
  const parts = (piece: TemplatePiece) => templateParts(piece, special_tokens);
  return { single: single.flatMap(parts), pair: pair.flatMap(parts) };
}

function templateParts(
  piece: TemplatePiece,
  specialTokens: Readonly<Record<string, { readonly ids: readonly number[] }>>,
): TemplatePart[] {
  if ('Sequence' in piece) {
    return [{ kind: 'text', text: piece.Sequence.id === 'A' ? 0 : 1, typeId: piece.Sequence.type_id }];
  }
  const ids = specialTokens[piece.SpecialToken.id]?.ids ?? [];
  return ids.map((id) => ({ kind: 'special', id, typeId: piece.SpecialToken.type_id }));
}
