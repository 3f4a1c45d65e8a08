import type { RecordedCommand } from './alternative.mjs';
export function drawSession(session: readonly RecordedCommand[], name: 'light' | 'dark'): string;
