import fc from 'fast-check'

/**
 * Any character of Unicode, for `fc.string({ unit: ANY_CHARACTER })`. fast-check's own `unit: 'binary'` means the same,
 * and makes a table of a million characters first, for which each process needs 0.8 s.
 */
export const ANY_CHARACTER = fc
  .oneof(fc.integer({ min: 0, max: 0xd7_ff }), fc.integer({ min: 0xe0_00, max: 0x10_ff_ff }))
  .map((code) => String.fromCodePoint(code))
