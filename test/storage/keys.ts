import fc from 'fast-check';

/** Any UTF-16 code units, lone surrogates too. */
const anyUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));
/** Few, so that keys often begin alike, and such as need care in names of files. */
const someUnit = fc.constantFrom('a', 'b', 'c', 'A', '0', '-', '/', '.', '%', '~', 'é', '\ud800', '木');

/** Keys of any length and characters; short ones, and ones that begin alike, are common. */
export const anyKey: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: someUnit, minLength: 1, maxLength: 14 }) },
  fc.string({ unit: fc.constantFrom('a', 'b', '/'), minLength: 1, maxLength: 60 }),
  fc.string({ unit: anyUnit, minLength: 1, maxLength: 200 }),
  // Too long for a path: they differ in their last units.
  fc.string({ unit: someUnit, minLength: 1, maxLength: 3 }).map((end) => '木'.repeat(197) + end),
);
