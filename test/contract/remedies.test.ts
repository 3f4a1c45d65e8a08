import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { implementation, validate } from '../../src/contract/index.js';
import { failureOf } from '../support/outcomes.js';

/** What messages say of a value that is wrong, at the edges of their wording. */

async function messageOf(schema: z.ZodType, input: unknown): Promise<string> {
  return (await failureOf('validation', () => validate(schema, input))).message;
}

class Apple {}
class MelonAde {}
class kiwiFruit {}

describe('a message about a wrong value', () => {
  it.each<[z.ZodType, unknown, string]>([
    [z.literal(5), 6, 'give 5'],
    [z.literal(['a', 5]), 6, 'give one of "a", 5'],
    [z.literal('a'), undefined, 'missing; give "a"'],
    [z.string().max(1), 'ab', 'give at most 1 character'],
    [z.string().length(1), '', 'give exactly 1 character'],
    [z.array(z.string()).max(1), ['a', 'b'], 'give at most 1 item'],
    [z.array(z.string()).min(2), ['a'], 'give at least 2 items'],
    [z.int(), true, 'give a number, not true'],
    [z.string(), false, 'give a string, not false'],
    [z.string(), [], 'give a string, not an array'],
    [z.string().startsWith('hf_'), 'x', 'give a string that starts with "hf_"'],
    [z.uuid(), 'x', 'give a UUID'],
    [z.ipv4(), 'x', 'give a valid ipv4'],
    [z.instanceof(Apple), 'x', 'give an Apple, not a string'],
    [z.instanceof(MelonAde), 'x', 'give a MelonAde, not a string'],
    [z.instanceof(kiwiFruit), 'x', 'give kiwiFruit, not a string'],
    [z.any().refine(() => false), undefined, 'Invalid input'],
    [z.bigint(), 'x', 'give bigint, not a string'],
  ])('case %#', async (schema, input, message) => {
    expect(await messageOf(schema, input)).toBe(message);
  });

  it('has the kind of its problem, and its path with numbers and names', async () => {
    const schema = z.object({ rows: z.array(z.object({ text: z.string() })) });
    const { problems } = await failureOf('validation', () =>
      validate(schema, { rows: [{ text: 5 }, {}] }, ['body', 3]),
    );
    expect(problems).toEqual([
      { loc: ['body', 3, 'rows', 0, 'text'], msg: 'give a string, not a number', type: 'invalid_type' },
      { loc: ['body', 3, 'rows', 1, 'text'], msg: 'missing; give a string', type: 'missing' },
    ]);
  });
});

describe('an unknown field', () => {
  const fields = (...names: string[]) =>
    z.strictObject(Object.fromEntries(names.map((name) => [name, z.number().optional()])));
  const eight = ['aa', 'bb', 'cc', 'dd', 'ee', 'ff', 'gg', 'hh'];

  it.each<[z.ZodType, string, string]>([
    [fields('num_epochs', 'size'), 'numEpochs', 'unknown "numEpochs"; did you mean `num_epochs`?'],
    [fields('size', 'num-epochs'), 'NUM_EPOCH', 'unknown "NUM_EPOCH"; did you mean `num-epochs`?'],
    // Three letters in common are enough, two are not, unless the name has no more.
    [fields('label', 'text'), 'lab', 'unknown "lab"; did you mean `label`?'],
    [fields('label', 'text'), 'la', 'unknown "la"; use `label` or `text`'],
    [fields('id', 'text'), 'identity', 'unknown "identity"; did you mean `id`?'],
    [fields(...eight), 'zz', 'unknown "zz"; use `aa`, `bb`, `cc`, `dd`, `ee`, `ff`, `gg` or `hh`'],
    [fields(...eight, 'ii'), 'zz', 'unknown "zz"; leave it out'],
    [fields(), 'zz', 'unknown "zz"; leave it out'],
  ])('case %#', async (schema, key, message) => {
    expect(await messageOf(schema, { [key]: 1 })).toBe(message);
  });
});

describe('an object that the application has made', () => {
  const schema = implementation<{ read(): void; write(): void }>(['read', 'write'], 'pass a storage');
  const whole = { read: () => undefined, write: () => undefined };

  it('is passed on as it is', () => {
    expect(validate(schema, whole)).toBe(whole);
  });

  it.each([
    undefined,
    null,
    'text',
    Object.assign(() => undefined, whole),
    {},
    { read: whole.read },
    { ...whole, write: 5 },
  ])('needs all of its methods: case %#', async (input) => {
    const { message, problems } = await failureOf('validation', () => validate(schema, input));
    expect(message).toBe('pass a storage');
    expect(problems).toMatchObject([{ type: 'custom' }]);
  });
});
