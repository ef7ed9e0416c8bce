/**
 * Rendezvous hashing: each key ranks the names in its own order. When a name is removed, only the keys of this name
 * move to other names; when the name is added again, they move back. The method needs no ring and no state.
 */

/** The score of a name for a key: a whole number of 32 bits, the same in every process. */
export function rendezvousScore(key: string, name: string): number {
  return finish(mix(mix(mix(OFFSET, name), '\0'), key))
}

/**
 * The score of a name with a weight: each name wins the share of the keys that its weight gives it. With equal weights
 * the same name wins as without weights.
 */
export function weightedScore(key: string, name: string, weight: number): number {
  // A number from 0 to 1, both exclusive.
  const uniform = (rendezvousScore(key, name) + 0.5) / 2 ** 32
  return weight / -Math.log(uniform)
}

const OFFSET = 0x811c9dc5
const PRIME = 0x01000193

/** The hash function FNV-1a over UTF-16 units. */
function mix(seed: number, text: string): number {
  let hash = seed
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), PRIME)
  }
  return hash
}

/** MurmurHash3's finalizer, which makes the scores of similar names independent. */
function finish(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
