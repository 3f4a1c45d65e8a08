import type { Hono } from 'hono';
import * as z from 'zod';
import { admit } from './admission.js';
import type { Admission } from './admission-options.js';
import type { HandlerEnvironment } from './environment.js';
import { checked } from './operation.js';
import type { OperatorAccess } from './operator-access.js';
import { type AllowedMethods, queryOf, type Route, routePath } from './route.js';
import { noQuery } from './schemas.js';

const accountRoute: Route = {
  path: '/operator/accounts/{app_id}',
  tag: 'operator',
  places: { input: 'query', subject: ['path', 'app_id'] },
};
const unusedRoute: Route = {
  path: '/operator/unused-models',
  tag: 'operator',
  places: { input: 'query', subject: ['query'] },
};

const accountInput = z.object({ query: noQuery });
const unusedInput = z.object({
  query: z.strictObject({
    days: z
      .string()
      .regex(/^\d{1,5}$/, 'give whole days, 1 to 36500')
      .transform(Number)
      .optional(),
  }),
});

/** What an operator does for all accounts; not in the OpenAPI document, which is for those who have an account. @returns the methods of what was added. */
export function addOperatorRoutes(
  app: Hono<HandlerEnvironment>,
  { operator, authenticateOperator, wrongKeyLimiter }: OperatorAccess & Pick<Admission, 'wrongKeyLimiter'>,
): AllowedMethods {
  if (operator === undefined || authenticateOperator === undefined) return {};
  const admission = { authenticate: authenticateOperator, ...(wrongKeyLimiter && { wrongKeyLimiter }) };
  app.delete(routePath(accountRoute), async (context) => {
    await admit(context, accountRoute, admission);
    checked(accountInput, { query: queryOf(context.req.raw) });
    return context.json({ data: await operator.eraseAccount(context.req.param('app_id') ?? '') });
  });
  app.get(routePath(unusedRoute), async (context) => {
    await admit(context, unusedRoute, admission);
    return context.json({ data: await operator.listUnusedModels(daysIn(context.req.raw)) });
  });
  app.delete(routePath(unusedRoute), async (context) => {
    await admit(context, unusedRoute, admission);
    return context.json({ data: await operator.removeUnusedModels(daysIn(context.req.raw)) });
  });
  return { [routePath(accountRoute)]: ['DELETE'], [routePath(unusedRoute)]: ['GET', 'DELETE'] };
}

function daysIn(request: Request): { readonly days?: number } {
  const { days } = checked(unusedInput, { query: queryOf(request) }).query;
  return days === undefined ? {} : { days };
}
