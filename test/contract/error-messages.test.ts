import { errAsync, okAsync } from 'neverthrow';
import { describe, expect, it } from 'vitest';
import {
  AbortedError,
  DatasetError,
  type DatasetProblem,
  DeviceError,
  describeDatasetProblem,
  describeError,
  InternalError,
  isOrchardError,
  MAX_LISTED_PROBLEMS,
  MedleyError,
  ModelDownloadError,
  ModelFolderError,
  NotFoundError,
  type OrchardError,
  OverloadedError,
  orThrow,
  reviveError,
  StorageError,
  TransitionError,
  toOrchardError,
  ValidationError,
} from '../../src/contract/index.js';

const problem: DatasetProblem = { file: 'train.tsv', found: 'found 7', expected: 'an id' };

describe('an error says what happened where', () => {
  // Made in the test, so that it is known which test makes which.
  it.each<[() => OrchardError, string]>([
    [() => new DatasetError([]), 'the dataset has no rows'],
    [() => new DatasetError([problem]), 'train.tsv: found 7; expected an id'],
    [() => new DatasetError([problem, problem]), 'train.tsv: found 7; expected an id (and 1 more)'],
    [() => new DatasetError([problem], 12_346), 'train.tsv: found 7; expected an id (and 12,345 more)'],
    [() => new NotFoundError('model', 'a"b'), 'no model "a\\"b"'],
    [() => new NotFoundError('backbone', 'b', 'there are a and c'), 'no backbone "b": there are a and c'],
    [() => new ModelDownloadError('m', 'http://h/', 'it is gone'), 'model m: it is gone (http://h/)'],
    [() => new ModelDownloadError('m', 'http://h/', 'it is gone', { file: 'a' }), 'model m, a: it is gone (http://h/)'],
    [
      () => new TransitionError('1', 'READY', 'CANCELLED'),
      "training job 1 can't be cancelled: it has already been trained",
    ],
    [() => new TransitionError('1', 'QUEUED', 'READY'), "training job 1 can't become READY: it is QUEUED"],
    [() => new OverloadedError(3, 10), '3 texts are already waiting; try again later, or send fewer texts at a time'],
    [
      () => new OverloadedError(3, 10, 'account'),
      '3 texts of this account are already waiting; try again later, or send fewer texts at a time',
    ],
    [() => new DeviceError('webgpu', 'start', 'no driver'), "the device webgpu can't be used: no driver"],
    [() => new DeviceError('webgpu', 'run', 'it was lost'), 'the device webgpu failed: it was lost'],
    [() => new ModelFolderError('f', 'x'.repeat(1000)), `f: ${'x'.repeat(1000)}`],
    [() => new ModelFolderError('f', 'x'.repeat(1001)), `f: ${'x'.repeat(1000)} …`],
    [
      () => new MedleyError({ a: 1 }, { b: new InternalError('no'), c: new AbortedError('asking') }),
      '1 of 3 models answered; b: no; c: asking was aborted',
    ],
    [
      () =>
        new ValidationError([
          { loc: ['a', 0], msg: 'wrong', type: 'x' },
          { loc: [], msg: 'odd', type: 'y' },
        ]),
      'a.0: wrong; odd',
    ],
  ])('case %#', (make, expected) => {
    const error = make();
    expect(error.message).toBe(expected);
    expect(error.name).toBe(error.constructor.name);
  });

  it('with the place of a problem as far as it is known', () => {
    expect(describeDatasetProblem({ ...problem, line: 4182 })).toBe('train.tsv line 4,182: found 7; expected an id');
    expect(describeDatasetProblem({ ...problem, line: 2, column: 'label' })).toBe(
      'train.tsv line 2, column label: found 7; expected an id',
    );
    expect(describeDatasetProblem({ ...problem, column: 3 })).toBe('train.tsv, column 3: found 7; expected an id');
  });

  it('with its fields', () => {
    const many = new DatasetError(Array.from({ length: MAX_LISTED_PROBLEMS + 1 }, () => problem));
    expect(many.problems).toHaveLength(MAX_LISTED_PROBLEMS);
    expect(many.total).toBe(MAX_LISTED_PROBLEMS + 1);
    const download = new ModelDownloadError('m', 'http://h/', 'no', { file: 'a', status: 404 });
    expect(download).toMatchObject({ file: 'a', status: 404 });
    expect(new StorageError('no').isUnavailable).toBe(false);
    expect(new StorageError('no', { isUnavailable: true }).isUnavailable).toBe(true);
  });
});

describe('anything that is thrown', () => {
  it.each([undefined, null, 'text', 5, true, {}, new Error('no')])('is no error of ours: %s', (thrown) => {
    expect(isOrchardError(thrown)).toBe(false);
    const reason = thrown instanceof Error ? 'no' : String(thrown);
    expect(toOrchardError(thrown, 'reading')).toMatchObject({
      code: 'internal',
      message: `reading: ${reason}`,
      cause: thrown,
    });
  });

  it('stays as it is where it is ours', () => {
    const own = new TransitionError('1', 'READY', 'ERROR');
    expect(isOrchardError(own)).toBe(true);
    expect(toOrchardError(own, 'reading')).toBe(own);
  });

  it.each<[string, object, string]>([
    ['ENOSPC', {}, 'storage'],
    ['EDQUOT', {}, 'storage'],
    ['EROFS', {}, 'storage'],
    ['EIO', {}, 'storage'],
    ['EACCES', { path: '/a' }, 'storage'],
    ['EPERM', { path: '/a' }, 'storage'],
    ['ENOENT', { path: '/a' }, 'internal'],
    // Of a socket or a process, which have no path.
    ['EACCES', {}, 'internal'],
    ['EPERM', {}, 'internal'],
  ])('%s with %j becomes an error of code %s', (code, fields, expected) => {
    const thrown = Object.assign(new Error('no'), { code, ...fields });
    expect(toOrchardError(thrown, 'writing')).toMatchObject({ code: expected, message: 'writing: no', cause: thrown });
    expect(toOrchardError({ code, ...fields }, 'writing').code).toBe('internal');
  });
});

describe('an error that goes to another thread', () => {
  it.each<() => OrchardError>([
    () => new DatasetError([{ ...problem, line: 3 }], 7, { cause: new Error('why') }),
    () => new OverloadedError(3, 10, 'account'),
    () => new StorageError('no', { isUnavailable: true }),
  ])('comes back as the same: case %#', (make) => {
    const error = make();
    const revived = reviveError(structuredClone(describeError(error)));
    expect(revived).toBeInstanceOf(error.constructor);
    expect(isOrchardError(revived)).toBe(true);
    const { cause, ...own } = error;
    expect({ ...revived }).toMatchObject(own);
    const { name, message, stack } = error;
    expect(revived).toMatchObject({ name, message, stack });
    expect(revived.cause).toEqual(cause);
    expect('cause' in revived).toBe('cause' in error);
  });
});

it('orThrow gives the value of a call, or throws its error', async () => {
  expect(await orThrow(okAsync(5))).toBe(5);
  const error = new InternalError('no');
  await expect(orThrow(errAsync(error))).rejects.toBe(error);
});
