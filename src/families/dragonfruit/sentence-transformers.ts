/**
 * Tells sentence-transformers what comes after a BertModel: token states are averaged and brought to unit
 * length.
 */

const json = (value: unknown): Uint8Array => Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`);

const modules = [
  { idx: 0, name: '0', path: '', type: 'sentence_transformers.models.Transformer' },
  { idx: 1, name: '1', path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
  { idx: 2, name: '2', path: '2_Normalize', type: 'sentence_transformers.models.Normalize' },
];

/** @param width of a vector. @param maxTokens longer texts are cut to this many tokens. */
export function sentenceTransformersFiles(width: number, maxTokens: number): ReadonlyMap<string, Uint8Array> {
  return new Map([
    ['modules.json', json(modules)],
    ['sentence_bert_config.json', json({ max_seq_length: maxTokens, do_lower_case: false })],
    ['config_sentence_transformers.json', json({ similarity_fn_name: 'cosine' })],
    [
      '1_Pooling/config.json',
      json({
        word_embedding_dimension: width,
        pooling_mode_cls_token: false,
        pooling_mode_mean_tokens: true,
        pooling_mode_max_tokens: false,
        pooling_mode_mean_sqrt_len_tokens: false,
      }),
    ],
  ]);
}
