import { fileURLToPath } from 'node:url';

export const catalogueDirectory = fileURLToPath(new URL('./catalogue', import.meta.url));

export const backbonesDirectory = fileURLToPath(new URL('./backbones', import.meta.url));
