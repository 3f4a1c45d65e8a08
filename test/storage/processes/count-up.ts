import { fileStorage } from '../../../src/storage/index.js';
import { increment } from './increment.js';

/** `count-up.ts <directory> <times>`: increments the shared counter that many times. */

const [directory = '', times] = process.argv.slice(2);
const storage = fileStorage(directory);
for (let done = 0; done < Number(times); done++) await increment(storage);
await storage.close();
