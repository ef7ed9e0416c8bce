/** Where Deno behaves otherwise than Node and Bun. */

/**
 * The `skip` of a test that Deno cannot pass: `it('…', { skip: differsOnDeno('`tls.ciphers` is ignored') }, …)`.
 *
 * @param documented the reason, in words of `docs/runtimes.md`; a test of the documentation looks them up there
 * @returns the reason on Deno, `false` on all other runtimes
 */
export function differsOnDeno(documented: string): string | false {
  return 'Deno' in globalThis && documented
}
