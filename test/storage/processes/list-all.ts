/** `list-all.ts <directory>`: opens a storage and says how many records its collection `jobs` has. */
import { fileStorage } from '../../../src/storage/index.js';

const [directory = ''] = process.argv.slice(2);
const records = await fileStorage(directory).list('jobs', { limit: Number.POSITIVE_INFINITY });
console.log(records.length);
