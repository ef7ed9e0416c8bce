/**
 * Where Deno behaves otherwise than Node, so that a test fails there. `docs/runtimes.md` tells users of each. A test that
 * is named here and passes fails the run: Deno has been mended, and the entry and its sentence in the docs go.
 */
export interface Difference {
  /** The sentence of `docs/runtimes.md` that says it. */
  readonly documented: string
  /** Full names of the tests that fail because of it. */
  readonly tests: readonly string[]
}

function overBoth(name: string): string[] {
  return ['nest', 'rsocket'].map((protocol) => `TLS with sockets of node:net, protocol ${protocol} > ${name}`)
}

export const DIFFERENCES: readonly Difference[] = [
  {
    documented: 'the log does not say why a handshake failed',
    tests: overBoth('speaks TLS 1.2 and 1.3, and nothing lower')
  },
  {
    documented: 'An expired certificate is `TLS_NOT_TRUSTED`',
    tests: overBoth('refuses an expired certificate')
  },
  {
    documented: 'a missing client certificate over TLS 1.2 is `TLS_HANDSHAKE`',
    tests: overBoth('wants client certificates, by TLSv1.2')
  },
  {
    documented: '`tls.ciphers` is ignored',
    tests: overBoth('says that there is no cipher in common, and does not take it for a missing certificate')
  },
  {
    documented: 'A certificate and a key that do not fit are noticed by the first handshake',
    tests: [
      ...overBoth('keeps the old certificate if the new one cannot be used'),
      'TLS with sockets of node:net > cannot listen with a certificate and a key that do not fit'
    ]
  },
  {
    documented: 'finds no store of an `AsyncLocalStorage`',
    tests: ['rsocket', 'memory'].map(
      (way) =>
        `what stands around the messages of a service, over ${way} > gives a store to the handler and to each step of its stream, and nothing of it to the next message`
    )
  }
]
