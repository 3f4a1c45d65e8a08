import { LRUCache } from 'lru-cache';
import { type EncodeOptions, type Encoding, loadTokenizer, type Tokenizer } from '../text/index.js';

/** Enough for a batch of a medley: 50 queries. */
const MAX_REMEMBERED_TEXTS = 64;
/** Tokens of all remembered texts together; one takes 20 bytes. */
const MAX_REMEMBERED_TOKENS = 1 << 16;

/** One tokenizer for all models with equal tokenizer files, kept as long as one of the models. */
export class SharedTokenizers {
  readonly #tokenizers = new Map<string, WeakRef<Tokenizer>>();

  /**
   * @param key the text of both files. @param json the parsed tokenizer.json. @param config the parsed
   * tokenizer_config.json.
   * @throws ModelFolderError
   */
  load(key: string, json: unknown, config: unknown): Tokenizer {
    for (const [other, tokenizer] of this.#tokenizers) {
      if (tokenizer.deref() === undefined) this.#tokenizers.delete(other);
    }
    const known = this.#tokenizers.get(key)?.deref();
    if (known !== undefined) return known;
    const tokenizer = new RememberingTokenizer(loadTokenizer(json, config));
    this.#tokenizers.set(key, new WeakRef(tokenizer));
    return tokenizer;
  }
}

/** Remembers encodings: the models of a medley read the same texts one after the other. */
export class RememberingTokenizer implements Tokenizer {
  readonly vocabularySize: Tokenizer['vocabularySize'];
  readonly specialTokens: Tokenizer['specialTokens'];
  readonly #encodings = new LRUCache<string, Encoding>({
    max: MAX_REMEMBERED_TEXTS,
    maxSize: MAX_REMEMBERED_TOKENS,
    sizeCalculation: ({ ids }) => ids.length + 1,
  });

  readonly withoutOffsets?: string;
  readonly #tokenizer: Tokenizer;

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
    if (tokenizer.withoutOffsets !== undefined) this.withoutOffsets = tokenizer.withoutOffsets;

    this.vocabularySize = tokenizer.vocabularySize;
    this.specialTokens = tokenizer.specialTokens;
  }

  encode(text: string, options: EncodeOptions = {}): Encoding {
    if (options.pair !== undefined) return this.#tokenizer.encode(text, options);
    const key = `${options.maxLength ?? ''} ${text}`;
    const known = this.#encodings.get(key);
    if (known !== undefined) return known;
    const encoding = this.#tokenizer.encode(text, options);
    this.#encodings.set(key, encoding);
    return encoding;
  }

  token(id: number): string | undefined {
    return this.#tokenizer.token(id);
  }
}
