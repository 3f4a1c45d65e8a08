import { describe, expect, it } from 'vitest';
import { NotFoundError } from '../../src/contract/index.js';
import { withFile } from '../../src/models/folder-files.js';

const failing = (code: string) => async () => {
  throw Object.assign(new Error(`${code}: write`), { code, syscall: 'write' });
};

describe('a file of a model folder that can not be written or read', () => {
  it.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])(
    'is a failure of the storage where the disk is why: %s',
    async (code) => {
      await expect(withFile('model.onnx', failing(code))).rejects.toMatchObject({
        code: 'storage',
        message: `model.onnx: ${code}: write`,
      });
    },
  );

  it.each(['ENOENT', 'EACCES', 'EISDIR'])('is one of the folder otherwise: %s', async (code) => {
    await expect(withFile('model.onnx', failing(code))).rejects.toMatchObject({ code: 'model_folder' });
  });

  it('keeps an error that says what is wrong', async () => {
    const known = new NotFoundError('model', 'm');
    await expect(withFile('model.onnx', () => Promise.reject(known))).rejects.toBe(known);
  });
});
