/** The parts of Hugging Face's tokenizer.json and tokenizer_config.json that we read and write. */
import * as z from 'zod';

const idSchema = z.int().nonnegative();
/** Checked by hand: a zod schema for each piece would take tens of milliseconds for a whole vocabulary. */
const vocabularySchema = z
  .custom<Readonly<Record<string, number>>>((value) => typeof value === 'object' && value !== null)
  .superRefine((vocabulary, { addIssue }) => {
    const wrong = Object.entries(vocabulary).find(([, id]) => !Number.isInteger(id) || id < 0);
    if (wrong) addIssue({ code: 'custom', path: [wrong[0]], message: 'expected a whole number, 0 or more' });
  });

const addedTokenSchema = z.looseObject({
  id: idSchema,
  content: z.string().min(1),
  single_word: z.boolean().default(false),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  /** Whether it is looked for in the normalised text instead of the text as it is. */
  normalized: z.boolean().default(false),
  special: z.boolean().default(false),
});

/** What every tokenizer.json has, whatever its model. */
export const anyTokenizerJsonSchema = z.looseObject({
  model: z.looseObject({
    type: z.string().optional(),
    continuing_subword_prefix: z.string().nullish(),
    end_of_word_suffix: z.string().nullish(),
  }),
  normalizer: z.looseObject({ type: z.string() }).nullish(),
  pre_tokenizer: z.looseObject({ type: z.string() }).nullish(),
  post_processor: z.looseObject({ type: z.string() }).nullish(),
  decoder: z.looseObject({ type: z.string() }).nullish(),
  added_tokens: z.array(addedTokenSchema).default([]),
});
export type AnyTokenizerJson = z.infer<typeof anyTokenizerJsonSchema>;

const templatePieceSchema = z.union([
  z.strictObject({ SpecialToken: z.strictObject({ id: z.string(), type_id: idSchema }) }),
  z.strictObject({ Sequence: z.strictObject({ id: z.enum(['A', 'B']), type_id: idSchema }) }),
]);
export type TemplatePiece = z.infer<typeof templatePieceSchema>;

export const templateProcessingSchema = z.looseObject({
  type: z.literal('TemplateProcessing'),
  single: z.array(templatePieceSchema),
  pair: z.array(templatePieceSchema),
  special_tokens: z.record(
    z.string(),
    z.looseObject({ id: z.string(), ids: z.array(idSchema), tokens: z.array(z.string()) }),
  ),
});

const tokenAndIdSchema = z.tuple([z.string(), idSchema]);
export const bertProcessingSchema = z.looseObject({
  type: z.literal('BertProcessing'),
  sep: tokenAndIdSchema,
  cls: tokenAndIdSchema,
});

/** A tokenizer.json of BERT's kind: BertNormalizer, BertPreTokenizer, WordPiece. */
export const bertTokenizerJsonSchema = anyTokenizerJsonSchema.extend({
  normalizer: z.looseObject({
    type: z.literal('BertNormalizer'),
    clean_text: z.boolean().default(true),
    handle_chinese_chars: z.boolean().default(true),
    /** Null: the same as `lowercase`. */
    strip_accents: z.boolean().nullable().default(null),
    lowercase: z.boolean().default(true),
  }),
  pre_tokenizer: z.looseObject({ type: z.literal('BertPreTokenizer') }),
  post_processor: z
    .discriminatedUnion('type', [templateProcessingSchema, bertProcessingSchema])
    .nullable()
    .default(null),
  model: z.looseObject({
    type: z.literal('WordPiece').default('WordPiece'),
    unk_token: z.string().default('[UNK]'),
    continuing_subword_prefix: z.string().default('##'),
    max_input_chars_per_word: z.int().positive().default(100),
    vocab: vocabularySchema,
  }),
});
/** A BERT-style tokenizer.json, as {@link trainWordPiece} writes it. */
export type BertTokenizerJson = z.infer<typeof bertTokenizerJsonSchema>;

const namedTokenSchema = z
  .union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)])
  .nullish();

/** The fields of a tokenizer_config.json that name the special tokens. */
export const specialTokenNamesSchema = z.looseObject({
  pad_token: namedTokenSchema,
  unk_token: namedTokenSchema,
  cls_token: namedTokenSchema,
  sep_token: namedTokenSchema,
  mask_token: namedTokenSchema,
});
export type SpecialTokenNames = z.infer<typeof specialTokenNamesSchema>;
