/** Whose models those of the bench are. */
export const account = { app_id: 'bench', tier: 'pro' } as const;
