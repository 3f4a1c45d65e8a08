import * as z from 'zod';
import { problemOfAll, type Rule, ruleOf } from '../models/index.js';

const isTerms = (given: unknown): given is readonly string[] =>
  Array.isArray(given) && given.every((term) => typeof term === 'string');

const ruleSchema = z.lazy(() =>
  z
    .strictObject({
      name: z.string().optional(),
      type: z.string().optional(),
      label: z.string().optional(),
      not: z.string().optional(),
      pattern: z.string({ error: 'give the source of a regular expression as a string' }).optional(),
      terms: z.custom<readonly string[]>(isTerms, 'give an array of strings').optional(),
      ignoreCase: z.boolean().optional(),
      wholeWords: z.boolean().optional(),
    })
    .transform((given, context): Rule => {
      const rule = ruleOf(given);
      if (!('message' in rule)) return rule;
      context.addIssue({ code: 'custom', ...rule, input: undefined });
      return z.NEVER;
    }),
);

/** The option `rules`. The files of models have a check without zod, which their threads don't load. */
export const rulesSchema: z.ZodType<readonly Rule[]> = z.lazy(() =>
  z
    .array(ruleSchema)
    .min(1, 'give at least one rule')
    .superRefine((rules, context) => {
      const message = problemOfAll(rules);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    }),
);
