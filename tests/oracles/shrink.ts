/** Makes a case that is wrong as small as possible: items of its lists and fields of its objects go, one after another. */

/** Most tries for making one case smaller. */
const MOST = 600

type Path = readonly (string | number)[]

/** @param isWrong whether a case is still wrong */
export async function shrunk<Case>(given: Case, isWrong: (smaller: Case) => Promise<boolean>): Promise<Case> {
  let best = given
  let left = MOST
  for (let hasChanged = true; hasChanged && left > 0; ) {
    hasChanged = false
    for (let at = 0; left > 0; ) {
      const next = candidates(best)[at]
      if (next === undefined) break
      const smaller = next() as Case
      left--
      // After a change the candidate at the same place is another one.
      if (await isWrong(smaller).catch(() => false)) {
        best = smaller
        hasChanged = true
      } else at++
    }
  }
  return best
}

/** All cases that are one step smaller, the smallest first. */
function candidates(given: unknown): readonly (() => unknown)[] {
  const all: { readonly make: () => unknown; readonly size: number }[] = []
  const offer = (path: Path, change: Change, size: number) =>
    all.push({ make: () => changed(given, path, change), size })
  const visit = (value: unknown, path: Path) => {
    if (Array.isArray(value)) {
      if (value.length > 3) {
        offer(path, (list) => (list as unknown[]).slice(0, value.length >> 1), sizeOf(value))
        offer(path, (list) => (list as unknown[]).slice(value.length >> 1), sizeOf(value))
      }
      for (const [index, item] of value.entries()) {
        offer(path, (list) => (list as unknown[]).toSpliced(index, 1), sizeOf(item))
        // The steps inside of a part may matter without the part.
        const inner = Object(item).steps as unknown
        if (Array.isArray(inner)) offer(path, (list) => (list as unknown[]).toSpliced(index, 1, ...inner), 2)
        visit(item, [...path, index])
      }
    } else if (typeof value === 'object' && value !== null)
      for (const [name, item] of Object.entries(value)) {
        if (item === true) offer([...path, name], () => false, 1)
        else if (typeof item === 'number' && item > 0) offer([...path, name], () => 0, 1)
        if (typeof item !== 'object' && RECORDS.has(name))
          offer(path, (object) => without(object as object, name), sizeOf(item))
        visit(item, [...path, name])
      }
  }
  visit(given, [])
  return all.sort((a, b) => b.size - a.size).map(({ make }) => make)
}

/** Fields that may go: the schemas of a handler by their parts, the keys of data. Others say what a part of a case is. */
const RECORDS: ReadonlySet<string> = new Set(['data', 'headers', 'response', 'a', 'b', 'c', 'fail'])

type Change = (value: unknown) => unknown

function changed(given: unknown, [name, ...path]: Path, change: Change): unknown {
  if (name === undefined) return change(given)
  if (Array.isArray(given))
    return given.map((item: unknown, index) => (index === name ? changed(item, path, change) : item))
  const object = given as Readonly<Record<string, unknown>>
  return { ...object, [name]: changed(object[name], path, change) }
}

function without(given: object, name: string): object {
  return Object.fromEntries(Object.entries(given).filter(([own]) => own !== name))
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 1
}
