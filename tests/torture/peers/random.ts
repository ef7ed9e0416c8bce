/** Random numbers that can be repeated. */

/** Numbers from 0 (inclusive) to 1 (exclusive) that depend on nothing but the seed (Mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Some of the list, in its order; all of it if there are no more. */
export function sample<Item>(items: readonly Item[], count: number, random: () => number): Item[] {
  const chosen: Item[] = []
  for (const [index, item] of items.entries()) {
    if (random() * (items.length - index) < count - chosen.length) chosen.push(item)
  }
  return chosen
}
