import type * as z from 'zod';

/** A schema for each field of `T`: `satisfies FieldsOf<T>` refuses one that is left out, beyond, or of another type. */
export type FieldsOf<T> = { readonly [Field in keyof T]-?: z.ZodType<T[Field]> };
