const UUID = /^([\da-f]{8})-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i
/** Largest number of characters of a short name. */
const MAX_SHORT = 16

/** A short name for an instance. It is the beginning of its id, so that it is found where the whole id stands. */
export function shortInstance(id: string): string {
  const begin = UUID.exec(id)?.[1]
  if (begin !== undefined) return begin
  return id.length <= MAX_SHORT ? id : `${id.slice(0, MAX_SHORT - 1)}…`
}
