import { describe, expect, it } from 'vitest';
import { isVersionConflict, VersionConflict } from '../../src/storage/index.js';
import { aVersionConflictOfAnotherCopy } from './another-copy.js';

describe('isVersionConflict', () => {
  it('recognizes a conflict, even one of another copy of the package', () => {
    const other = aVersionConflictOfAnotherCopy('jobs', 'a');
    expect(other).not.toBeInstanceOf(VersionConflict);
    expect(isVersionConflict(other)).toBe(true);
    expect(isVersionConflict(new VersionConflict('jobs', 'a'))).toBe(true);
  });

  it.each([undefined, null, 'VersionConflict', {}, new Error('a conflict')])(
    'does not take %o for a conflict',
    (thrown) => {
      expect(isVersionConflict(thrown)).toBe(false);
    },
  );
});
