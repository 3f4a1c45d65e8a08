import type { FamilyName } from '../contract/index.js';
import { dragonfruit } from './dragonfruit/index.js';
import type { Family } from './family.js';
import { grapefruit } from './grapefruit/index.js';
import { papaya } from './papaya/index.js';

/** Every family there is. */
const families: readonly Family[] = [papaya, grapefruit, dragonfruit];

export function familyNamed(name: FamilyName): Family | undefined {
  return families.find((family) => family.name === name);
}
