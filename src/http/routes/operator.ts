import * as z from 'zod';
import { type Route, route } from '../route.js';
import { noQuery } from '../schemas.js';
import type { OperatorServices } from '../services.js';

/** What an operator does for all accounts. Not in the OpenAPI document, which is for accounts. */

const unusedInput = z.object({
  query: z.strictObject({
    days: z
      .string()
      .regex(/^\d{1,5}$/, 'give a whole number of days from 1 to 36500')
      .transform(Number)
      .optional(),
  }),
});

export function operatorRoutes(operator: OperatorServices): readonly Route[] {
  return [
    route({
      method: 'DELETE',
      path: '/operator/accounts/{app_id}',
      id: 'eraseAccount',
      tag: 'operator',
      summary: 'Erase all data of an account',
      input: z.object({ path: z.object({ app_id: z.string() }), query: noQuery }),
      answer: async (_, __, { path }) => ({ data: await operator.eraseAccount(path.app_id) }),
    }),
    route({
      method: 'GET',
      path: '/operator/unused-models',
      id: 'listUnusedModels',
      tag: 'operator',
      summary: 'Models that have not been used for some days',
      input: unusedInput,
      answer: async (_, __, { query }) => ({ data: await operator.listUnusedModels(daysOf(query)) }),
    }),
    route({
      method: 'DELETE',
      path: '/operator/unused-models',
      id: 'removeUnusedModels',
      tag: 'operator',
      summary: 'Remove models that have not been used for some days',
      input: unusedInput,
      answer: async (_, __, { query }) => ({ data: await operator.removeUnusedModels(daysOf(query)) }),
    }),
  ];
}

function daysOf({ days }: { readonly days?: number | undefined }): { readonly days?: number } {
  return days === undefined ? {} : { days };
}
