import { once } from 'node:events';
import { setPriority } from 'node:os';
import { holdOpen } from './attackers.js';

/**
 * `hold-open.ts <{ url, bytes, count, reads } as JSON>` holds connections open until its input ends. In a process of its own,
 * so that its work does not delay who measures.
 */

setPriority(19); // an attacker has machines of his own
const { url, bytes, count, reads } = JSON.parse(process.argv[2] ?? '{}');
await holdOpen({ url, apiKey: '' }, bytes, count, reads);
console.log('held');
await once(process.stdin.resume(), 'end');
process.exit();
