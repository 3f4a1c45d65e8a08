import type { Encoder } from '../../../src/encoder/index.js';
import type { BertTokenizerJson, Tokenizer } from '../../../src/tokenizer/index.js';
import type { CurveLabels } from './student/curve.js';
import type { Objective } from './student/objective.js';
import type { WorkFolder } from './work-folder.js';

/** What a backbone's recipe has to know of its language. */
export interface Recipe {
  readonly language: 'english' | 'japanese';
  /** The tokenizer.json of its students. */
  tokenizer(work: WorkFolder): BertTokenizerJson;
  /** The training objective, from what lies in the work folder. */
  objective(work: WorkFolder, encoder: Encoder, tokenizer: Tokenizer): Objective;
  readonly curve: CurveLabels;
}
