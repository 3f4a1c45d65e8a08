import { fileStorage } from '../../../src/storage/index.js';

/** `list-all.ts <directory>`: opens a storage and says how many records its collection `jobs` has. */

const [directory = ''] = process.argv.slice(2);
const records = await fileStorage(directory).list('jobs', { limit: Number.POSITIVE_INFINITY });
console.log(records.length);
