/** Marks tests of behaviour that differs on Deno. */

/**
 * Returns the `skip` of a test that Deno cannot pass: `it('…', { skip: differsOnDeno('`tls.ciphers` is ignored') },
 * …)`.
 *
 * @param documented the reason, as written in `docs/runtimes.md`; a test of the documentation looks for this text there
 * @returns the reason on Deno, `false` on all other runtimes
 */
export function differsOnDeno(documented: string): string | false {
  return 'Deno' in globalThis && documented
}
