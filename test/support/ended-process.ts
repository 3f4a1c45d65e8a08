import { spawnSync } from 'node:child_process';
import { ownedName } from '../../src/system/index.js';

const ended = spawnSync(process.execPath, ['--version']).pid;

/** A name that a process of this machine made that has ended. */
export function anEndedName(): string {
  return ownedName().replace(/^\d+/, String(ended));
}
