/**
 * Helpers for the tests of several packages. This package imports no other package of this repository, so that the
 * tests of each package may import it. Helpers for tests of several packages together are in `tests/support`.
 */
export { differsOnDeno } from './deno.ts'
export { DEAF_PORT, freePort } from './free-port.ts'
export { isOnPush } from './gate.ts'
export { randomFrom } from './random.ts'
