/** Names that are made of several parts: tests that each can be read in one way only. */
import assert from 'node:assert/strict'

/** All texts of 1 to `most` characters of an alphabet. */
export function textsOf(alphabet: string, most: number): string[] {
  if (most === 0) return []
  const shorter = textsOf(alphabet, most - 1)
  return [...alphabet, ...shorter.flatMap((text) => [...alphabet].map((sign) => text + sign))].filter(
    (text, index, all) => all.indexOf(text) === index
  )
}

/** Fails if different parts make the same name. @param named names with their parts */
export function assertOneReading(
  named: Iterable<readonly [name: string, ...parts: readonly unknown[]]>
): void {
  const known = new Map<string, string>()
  for (const [name, ...parts] of named) {
    const read = JSON.stringify(parts)
    const before = known.get(name)
    assert.ok(before === undefined || before === read, `${JSON.stringify(name)} is ${read} and ${before}`)
    known.set(name, read)
  }
}
