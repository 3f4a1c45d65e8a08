import { ChildProcess } from 'node:child_process';
import { expect, it, vi } from 'vitest';
import { TeacherCommand } from '../../src/cli/teacher-command.js';

/** As Node does without free file descriptors: there is an error, and no streams. */
vi.mock('node:child_process', async (importOriginal) => ({
  ...(await importOriginal<typeof import('node:child_process')>()),
  spawn: () => {
    const child = new ChildProcess();
    process.nextTick(() => child.emit('error', new Error('spawn /bin/sh EMFILE')));
    return child;
  },
}));

it('says that a program can not be started where it gets no streams', async () => {
  const teacher = new TeacherCommand('teach');
  const asked = teacher.ask(['a text'], { signal: new AbortController().signal, candidates: [] });
  await expect(asked).rejects.toThrow('teach spawn /bin/sh EMFILE before it answered');
  await teacher.close();
});
