import { existsSync } from 'node:fs';
import { memoryStorage } from '../../../src/storage/index.js';

/** Stages a folder in memory storage, says where, and ends without closing the storage. */

const directory = await memoryStorage().stageFolder('m');
console.log(JSON.stringify({ directory, existed: existsSync(directory) }));
