/**
 * Rendezvous hashing: each key has an order of preference among names. When a name goes, only its own keys
 * move; when it comes back, they come back. No ring, no state.
 */

/** The score of a name for a key: a whole number of 32 bits. The same in every process. */
export function rendezvousScore(key: string, name: string): number {
  return finish(mix(mix(mix(OFFSET, name), '\0'), key))
}

/**
 * The score where names have weights: each wins that share of the keys, and where all weights are the same, the one
 * that wins by its bare score.
 */
export function weightedScore(key: string, name: string, weight: number): number {
  // From 0 to 1, both exclusive.
  const uniform = (rendezvousScore(key, name) + 0.5) / 2 ** 32
  return weight / -Math.log(uniform)
}

const OFFSET = 0x811c9dc5
const PRIME = 0x01000193

/** FNV-1a over UTF-16 units. */
function mix(seed: number, text: string): number {
  let hash = seed
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), PRIME)
  }
  return hash
}

/** MurmurHash3's finalizer: names that differ in their last character get scores that have nothing in common. */
function finish(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
