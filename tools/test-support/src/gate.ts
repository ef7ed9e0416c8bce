/**
 * Whether the tests run before or on a push: with as few processes and repetitions as find what a commit breaks.
 * `tools/scripts/jobs.ts` sets `GATE`; without it, by hand, tests run in their long form.
 */
export const isOnPush = ['check', 'test'].includes(process.env['GATE'] ?? '')
