/** Advice when a storage of NATS is full, by patterns of NATS's description of the failure. */
const ADVICE: readonly (readonly [says: RegExp, advice: string])[] = [
  [
    /account/i,
    "the storage of the account is full: raise max_file (max_mem) of its jetstream in the configuration of the NATS server, or free some: a shorter maxAge, 'nats stream purge'"
  ],
  [
    /insufficient|resource/i,
    "the storage of the NATS server is full: raise max_file_store (max_memory_store) of its jetstream, or free some: a shorter maxAge, 'nats stream purge'"
  ],
  [
    /maximum (bytes|messages)/i,
    "the stream is full: raise options.durable.maxBytes, or free some: a shorter maxAge, 'nats stream purge'"
  ]
]

/** Returns the advice for a failure; `undefined`: the failure is not about a full storage. */
export function adviceOnFull(description: string): string | undefined {
  return ADVICE.find(([says]) => says.test(description))?.[1]
}
