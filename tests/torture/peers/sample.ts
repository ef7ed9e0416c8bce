/** A part of a list, chosen at random. */

/** A random choice of items, in the order of the list; all items, if there are no more. */
export function sample<Item>(items: readonly Item[], count: number, random: () => number): Item[] {
  const chosen: Item[] = []
  for (const [index, item] of items.entries()) {
    if (random() * (items.length - index) < count - chosen.length) chosen.push(item)
  }
  return chosen
}
