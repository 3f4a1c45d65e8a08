import { expect, it, vi } from 'vitest';
import { PassageCollection, SentenceEncoder, search } from '../../src/search/index.js';

it('computes no vectors for passages that are being added when the change is aborted', async () => {
  const vectors = vi.spyOn(SentenceEncoder.prototype, 'vectors');
  vectors.mockImplementationOnce(async (texts) => texts.map(() => Float32Array.of(1, 0)));
  vectors.mockRejectedValue(new Error('the encoder is closed'));
  await using index = (await search(['One.']))._unsafeUnwrap();
  const aborting = new AbortController();
  vi.spyOn(PassageCollection.prototype, 'add').mockImplementationOnce(function (
    this: PassageCollection<unknown>,
    given,
  ) {
    aborting.abort();
    this.add(given);
  });
  const added = await index.add(['Two.'], { signal: aborting.signal });
  expect(added._unsafeUnwrapErr().code).toBe('aborted');
  expect(vectors).toHaveBeenCalledOnce();
  expect(index.size).toBe(1);
});
