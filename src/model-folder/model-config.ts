import * as z from 'zod';
import { type FieldsOf, familyNameSchema, modelSizeSchema, modelTypeSchema } from '../contract/index.js';
import { ONNX_FILE, QUANTIZED_ONNX_FILE } from './files.js';

/**
 * How the outputs of encoder and lexical expert are mixed: encoder · the encoder's outputs + expert · the
 * expert's outputs + bias.
 */
export interface BlendWeights {
  /** The encoder's weight, 0 or more. */
  readonly encoder: number;
  /** The lexical expert's weight, 0 or more. */
  readonly expert: number;
  /** One per output. */
  readonly bias: readonly number[];
}

const blendWeightsSchema: z.ZodType<BlendWeights> = z.strictObject({
  encoder: z.number().nonnegative(),
  expert: z.number().nonnegative(),
  bias: z.array(z.number()),
} satisfies FieldsOf<BlendWeights>);

/**
 * The config.json of a model folder: Hugging Face's fields, which other libraries read, and ours under
 * `orchard`. The encoder's own fields pass through; encoder/bert-config.ts checks them.
 */
export const modelFolderConfigSchema = z.looseObject({
  architectures: z.array(z.string()),
  id2label: z.record(z.string(), z.string()),
  label2id: z.record(z.string(), z.int()),
  problem_type: z.enum(['single_label_classification', 'multi_label_classification']).optional(),
  orchard: z.strictObject({
    /** Raised when the folder's layout changes in a way that older versions can't read. */
    format: z.literal(1),
    family: familyNameSchema,
    type: modelTypeSchema,
    size: modelSizeSchema,
    /**
     * The name of the backbone that the encoder was trained from. The encoder then has the backbone's
     * geometry, and `size` only says what was asked for.
     */
    backbone: z.string().exactOptional(),
    /** Every label by id; a binary model has two here and one logit. */
    labels: z.array(z.string()),
    /** How hidden states become one vector per text; `none` if there is an output for every token. */
    pooling: z.enum(['first', 'mean', 'none']),
    /** How a text is split into the words that get labels, in models that label words. */
    words: z.enum(['whitespace', 'punctuation', 'marks', 'characters']).exactOptional(),
    /**
     * What token types mean: `capitals`, 1 for each piece with a capital letter. Absent: nothing, all are 0.
     */
    token_types: z.enum(['capitals']).exactOptional(),
    /** Whether the lexical expert folds texts to lower case; for the encoder the tokenizer decides. */
    lowercase: z.boolean(),
    /** The most tokens that are read at once, including the special ones. */
    max_tokens: z.int().positive(),
    /**
     * How many pieces neighbouring windows of a long text share. Absent: as text-reader/ says for `pooling`.
     */
    window_overlap: z.int().nonnegative().exactOptional(),
    /** Further files that running the model needs. */
    files: z.array(z.string()).readonly(),
    /** The graph to run; `blend` was fitted to its outputs. Absent: the one in float32. */
    graph: z.enum([ONNX_FILE, QUANTIZED_ONNX_FILE]).exactOptional(),
    /** Absent if there is no lexical expert. */
    blend: blendWeightsSchema.exactOptional(),
  }),
});
export type ModelFolderConfig = z.infer<typeof modelFolderConfigSchema>;
