/**
 * Whether the tests run before or on a push, or by hand: with as few processes and repetitions as find what a commit
 * breaks. `tools/scripts/jobs.ts` sets `GATE=nightly` for the long form.
 */
export const isOnPush = process.env['GATE'] !== 'nightly'
